// A simulated asker: submits until it is acknowledged, cancels some, acknowledges what it is told, and may die.

import type { Checker } from "./checker.js";
import type { Network } from "./network.js";
import type { Random } from "./random.js";
import type { Signal } from "./signals.js";
import { Process, type World } from "./world.js";

const resendMs = 250;

export interface ClientPlan {
  readonly name: string;
  readonly tasks: number;
  readonly overMs: number;
  readonly cancelShare: number;
}

export class SimulatedClient {
  readonly process: Process;
  readonly #world: World;
  readonly #network: Network;
  readonly #random: Random;
  readonly #checker: Checker;
  readonly #plan: ClientPlan;
  readonly #accepted = new Set<number>();
  readonly #told = new Set<number>();

  constructor(world: World, network: Network, random: Random, checker: Checker, plan: ClientPlan) {
    this.process = new Process(plan.name);
    this.#world = world;
    this.#network = network;
    this.#random = random;
    this.#checker = checker;
    this.#plan = plan;
    network.attach(plan.name, this);
    for (let number = 1; number <= plan.tasks; number += 1) {
      world.plan(this.process, random.between(0, plan.overMs), () => this.#submit(number));
    }
  }

  receive(_from: string, signal: Signal): void {
    const { name } = this.#plan;
    if (signal.type === "accepted") {
      this.#checker.accepted(name, signal.number, signal.task);
      this.#accepted.add(signal.number);
    } else if (signal.type === "outcome") {
      const outcome = signal.result === undefined ? signal.state : `${signal.state} ${signal.result}`;
      this.#checker.told(name, signal.number, signal.task, outcome);
      this.#accepted.add(signal.number);
      this.#told.add(signal.number);
      this.#network.send(name, "yard", { type: "heard", number: signal.number });
    }
  }

  #submit(number: number): void {
    const random = this.#random;
    const signal: Signal = {
      type: "submit",
      number,
      payload: `${this.#plan.name}/${number}/${"x".repeat(random.integer(0, 12))}`,
      priority: random.integer(-1, 1),
      delayMs: random.chance(0.1) ? random.integer(1, 3_000) : 0,
      waitingMsMax: random.chance(0.1) ? random.integer(500, 5_000) : 0,
      attemptTimeoutMs: random.chance(0.2) ? random.integer(200, 3_000) : 0,
      failures: random.integer(1, 3),
    };
    this.#checker.submitted(this.#plan.name, number, signal.payload);
    this.#sendUntilAccepted(signal);
    // A client that has forgotten what it knew asks again for what it was promised.
    if (random.chance(0.2)) {
      this.#world.plan(this.process, random.between(0, 15_000), () =>
        this.#network.send(this.#plan.name, "yard", signal),
      );
    }
    if (random.chance(this.#plan.cancelShare)) {
      this.#world.plan(this.process, random.between(0, 4_000), () => this.#cancel(number));
    }
  }

  #sendUntilAccepted(signal: Extract<Signal, { type: "submit" }>): void {
    if (this.#accepted.has(signal.number)) return;
    this.#network.send(this.#plan.name, "yard", signal);
    this.#world.plan(this.process, resendMs, () => this.#sendUntilAccepted(signal));
  }

  #cancel(number: number): void {
    if (!this.#told.has(number)) this.#network.send(this.#plan.name, "yard", { type: "cancel", number });
  }
}
