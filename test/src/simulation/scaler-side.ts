// Scaler's part of a run: its clients and workers, their connections, the real door, and their
// faults.

import { type Port, ScalerDoor, Tap } from "@yardmaster/server";
import { ScalerChecker } from "./scaler-checker.js";
import { ScalerClient } from "./scaler-client.js";
import { storedFromBytes } from "./scaler-sizes.js";
import { ScalerWorker } from "./scaler-worker.js";
import type { Side, SideOptions } from "./side.js";
import { Streams } from "./streams.js";
import type { Process } from "./world.js";

/** Half of those with form r behave like the original. */
function wiresOf(random: SideOptions["random"]) {
  const wire = random.pick(["r", "r", "d"] as const);
  return { wire, isOriginal: wire === "r" && random.chance(0.5) };
}

/** Longer than a pause or a restart, shorter than the time to heal. */
const clientTimeoutSeconds = 60;

export class ScalerSide implements Side {
  readonly door = "scaler";
  readonly checker: ScalerChecker;
  readonly #options: SideOptions;
  readonly connections: Streams;
  readonly #slots: number;
  readonly #clients: ScalerClient[] = [];
  readonly #workers: ScalerWorker[] = [];
  #lookAgainAt = 0;
  #lives = 0;
  #isEnding = false;

  constructor(options: SideOptions) {
    this.#options = options;
    const { random, world, store, isQuiet } = options;
    this.#slots = random.pick([1, 3, 1000]);
    this.checker = new ScalerChecker(store);
    const breaks = random.chance(0.5) ? random.between(0, 0.5) : 0;
    const late = random.pick([0, 0.1]);
    // A line that breaks without notice is silence, so a quiet run has none.
    const faults = isQuiet ? { late: 0, breaks: 0 } : { late, breaks };
    this.connections = new Streams(world, random, { ...faults, pendingMax: 100_000 });
    world.say("scenario", () => `scaler: ${this.#slots} slots, ${JSON.stringify(this.connections.faults)}`);
  }

  get acceptedCount(): number {
    return this.checker.acceptedCount;
  }

  /** No other dialect works on its queue. */
  wasGiven(): boolean {
    return false;
  }

  makeDoor(port: Port, process: Process): ScalerDoor {
    this.#lives += 1;
    return new ScalerDoor({
      port,
      config: {
        ...{ listen: { host: "yard", port: 2 }, workerTimeoutSeconds: 5, clientTimeoutSeconds },
        ...{ perWorkerQueueSize: this.#slots, protected: true, queue: "scaler" },
        ...{ objectBytes: 1_000_000, largestObjectBytes: 1_000_000 },
      },
      payloadBytesMax: 10_000,
      peersMax: 1_000,
      log: () => {},
      tap: new Tap(),
      makeRouter: this.connections.routersOf(process),
      inMemoryBytesMax: storedFromBytes,
    });
  }

  populate(): void {
    const { random, world, troubleMs } = this.#options;
    for (let index = random.integer(1, 3); index > 0; index -= 1) {
      const plan = {
        ...{ name: `client-${index}`, tasks: random.integer(1, 12), graphs: random.integer(0, 3) },
        ...{ overMs: random.pick([1_000, troubleMs * 0.8]), cancelShare: random.pick([0, 0.3]) },
        isOriginal: random.chance(0.5),
      };
      this.#clients.push(new ScalerClient(world, this.connections, random, this.checker, plan));
    }
    for (let index = random.integer(1, 4); index > 0; index -= 1) this.#addWorker(`worker-${index}`);
  }

  planTrouble(): void {
    const { random, faults, often, pause } = this.#options;
    often(faults.workerDeaths, () => this.connections.kill(random.pick(this.#workers)));
    often(faults.workerPauses, () => this.#pause(random.pick(this.#workers).process, pause));
    often(faults.clientDeaths, () => this.#loseClient(random.pick(this.#clients)));
    often(faults.forgeries, () => this.#forge());
    often(this.connections.faults.breaks, () => this.connections.breakOne());
  }

  heal(): void {
    this.connections.heal();
    for (const worker of this.#workers) if (worker.process.isDead) worker.start();
    this.#addWorker("worker-0", 50);
  }

  /**
   * First all outcomes must be delivered. Then all clients leave, and nothing of theirs may stay.
   */
  isComplete(): boolean {
    const { world } = this.#options;
    if (world.time < this.#lookAgainAt) return false;
    // Whatever has not ended by then rarely does, so it is checked less often.
    this.#lookAgainAt = world.time + (world.time < 100_000 ? 50 : 5_000);
    if (this.#isEnding) return this.checker.isClear();
    if (!this.checker.isComplete((line) => this.connections.isWhole(line))) return false;
    this.checker.finish((line) => this.connections.isWhole(line));
    this.#isEnding = true;
    for (const client of this.#clients) client.leave();
    return false;
  }

  finish(): void {
    if (!this.#isEnding) this.checker.finish((line) => this.connections.isWhole(line));
    this.checker.finishClear();
  }

  #addWorker(name: string, workMsMax?: number): void {
    const { random, world } = this.#options;
    const plan = {
      ...wiresOf(random),
      name,
      failShare: random.chance(0.3) ? 0.2 : 0,
      workMsMax: workMsMax ?? random.pick([5, 200, 3_000]),
    };
    this.#workers.push(new ScalerWorker(world, this.connections, random, this.checker, plan));
  }

  /** For good, with or without a goodbye. */
  #loseClient(client: ScalerClient): void {
    const { random, world } = this.#options;
    if (client.process.isDead) return;
    if (random.chance(0.5)) return client.leave();
    world.say(client.process.name, () => "DIES");
    this.checker.clientGone(client.process.name);
    client.process.isDead = true;
    this.connections.peerDied(client.process);
  }

  #forge(): void {
    const { random } = this.#options;
    // After a restart, a worker that names a task without a recorded holder is believed.
    if (this.#lives > 1) return;
    const [one, other] = [random.pick(this.#workers), random.pick(this.#workers)];
    const [task] = other.knownTasks;
    if (one !== other && task !== undefined && !one.knownTasks.includes(task)) one.forge(task);
  }

  #pause(process: Process, pause: SideOptions["pause"]): void {
    if (!process.isDead) this.connections.fallsSilent(process, pause(process, 8_000));
  }
}
