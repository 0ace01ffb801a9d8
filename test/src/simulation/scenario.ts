// One seed, one run: draws who is there and what goes wrong, lets it go wrong for a while, then lets everything heal and
// sees whether the promise was kept.

import { defaultCoreOptions, defaultLimits, type QueueSettings } from "@yardmaster/core";
import { MemoryStore } from "@yardmaster/engines";
import { Runtime } from "@yardmaster/server";
import { Checker, Violation } from "./checker.js";
import { SimulatedClient } from "./client.js";
import { type DiskFaults, SimulatedDisk } from "./disk.js";
import { drawFaults, type Faults, noFaults } from "./faults.js";
import { Network, type NetworkFaults } from "./network.js";
import {
  makeSides,
  type Population,
  populations,
  sharedQueues,
  withAskers,
  withWorkers,
} from "./populations.js";
import { Random } from "./random.js";
import type { Side, SideOptions } from "./side.js";
import { SignalDoor } from "./signal-door.js";
import { SimulatedWorker, type WorkerPlan } from "./worker.js";
import { Process, World } from "./world.js";

export interface Report {
  readonly seed: number;
  readonly violation: string | undefined;
  readonly accepted: number;
  readonly lives: number;
  readonly lostAttempts: number;
  /** Of those, the ones lost because the worker was silent. */
  readonly lostToSilence: number;
  readonly stalledMs: number;
}

export interface RunOptions {
  readonly seed: number;
  readonly trace?: (line: string) => void;
  /** Replaces what the seed would draw. */
  readonly faults?: Partial<Faults>;
  readonly population?: Population;
  /** What goes wrong with real dialects' datagrams, instead of what the seed would draw. */
  readonly datagrams?: NetworkFaults;
  /** Off when it is to be seen what the checker finds by itself. */
  readonly checksInvariants?: boolean;
}

const troubleMs = 20_000;
/** Backoff goes up to a minute; after this long without trouble everything must have ended. */
const healMs = 900_000;

export async function runSeed(options: RunOptions): Promise<Report> {
  const run = new Run(options);
  try {
    await run.go();
    return run.report(undefined);
  } catch (error) {
    if (error instanceof Violation || error instanceof Error) return run.report(error.stack ?? error.message);
    throw error;
  }
}

class Run {
  readonly #options: RunOptions;
  readonly #random: Random;
  readonly #world: World;
  readonly #network: Network;
  readonly #store = new MemoryStore();
  readonly #checker: Checker;
  readonly #faults: Faults;
  readonly #environment = new Process("environment");
  readonly #clients: SimulatedClient[] = [];
  readonly #workers: SimulatedWorker[] = [];
  readonly #population: Population;
  readonly #sides: readonly Side[];
  readonly #queueDefaults: QueueSettings;
  #disk: DiskFaults;
  #yard: { readonly process: Process; readonly runtime: Runtime; readonly door: SignalDoor } | undefined;
  /** One that has started and is not open yet. */
  #opening: Process | undefined;
  #lives = 0;
  #lost = 0;
  #lostToSilence = 0;
  #stalledMs = 0;
  #fault: Error | undefined;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#world = new World(options.trace);
    this.#faults = { ...drawFaults(this.#random), ...options.faults };
    this.#disk = this.#faults.disk;
    this.#network = new Network(this.#world, this.#random, this.#faults.network);
    this.#checker = new Checker(this.#store);
    this.#world.say("scenario", () => JSON.stringify(this.#faults));
    const random = new Random(~options.seed);
    const drawn = random.pick(populations);
    this.#population = options.population ?? drawn;
    const { sides, queueDefaults } = makeSides(this.#population, (queue) => this.#side(random, queue));
    this.#sides = sides;
    this.#queueDefaults = queueDefaults;
    this.#checker.wasGivenElsewhere = (worker, payload) =>
      this.#sides.some((side) => side.wasGiven(worker, payload));
  }

  #hasSide(...populations: readonly Population[]): boolean {
    return populations.includes(this.#population);
  }

  #side(random: Random, queue: string): SideOptions {
    return {
      world: this.#world,
      random,
      store: this.#store,
      queue: sharedQueues[this.#population] ?? queue,
      faults: this.#faults,
      isQuiet: this.#options.faults !== undefined,
      datagrams: this.#options.datagrams,
      troubleMs,
      often: (perSecond, happen) => this.#often(perSecond, happen),
      pause: (process, msMax) => this.#pause(process, msMax),
    };
  }

  async go(): Promise<void> {
    await this.#startYard();
    this.#populate();
    this.#planTrouble();
    await this.#world.run(troubleMs, () => this.#fault !== undefined);
    this.#heal();
    await this.#world.run(troubleMs + healMs, () => this.#fault !== undefined || this.#isOver());
    if (this.#fault !== undefined) throw this.#fault;
    this.#world.say("scenario", () => "over");
    this.#checker.finish(this.#living());
    for (const side of this.#sides) side.finish();
    this.#yard?.runtime.core.checkInvariants();
  }

  report(violation: string | undefined): Report {
    this.#countLost();
    return {
      seed: this.#options.seed,
      violation,
      accepted: this.#sides.reduce((sum, side) => sum + side.acceptedCount, this.#checker.acceptedCount),
      lives: this.#lives,
      lostAttempts: this.#lost,
      lostToSilence: this.#lostToSilence,
      stalledMs: this.#stalledMs,
    };
  }

  #isOver(): boolean {
    if (this.#yard === undefined || !this.#checker.isComplete(this.#living())) return false;
    return this.#sides.every((side) => side.isComplete());
  }

  #living(): Set<string> {
    return new Set(this.#clients.filter(({ process }) => !process.isDead).map(({ process }) => process.name));
  }

  #populate(): void {
    for (const side of this.#sides) side.populate();
    if (!this.#hasSide(...withAskers)) return;
    const random = this.#random;
    for (let index = random.integer(1, 3); index > 0; index -= 1) {
      const plan = {
        name: `client-${index}`,
        tasks: random.integer(1, 15),
        overMs: troubleMs * 0.8,
        cancelShare: 0.1,
      };
      this.#clients.push(new SimulatedClient(this.#world, this.#network, random, this.#checker, plan));
    }
    if (!this.#hasSide(...withWorkers)) return;
    for (let index = random.integer(1, 4); index > 0; index -= 1) {
      const plan = this.#drawWorker(`worker-${index}`);
      this.#workers.push(new SimulatedWorker(this.#world, this.#network, random, this.#checker, plan));
    }
  }

  #drawWorker(name: string): WorkerPlan {
    const random = this.#random;
    const slots = random.pick([1, 1, 1, 2, 5]);
    return {
      name,
      slots,
      runsAtOnce: random.integer(1, slots),
      pulls: random.chance(0.3),
      givesBack: random.chance(0.5),
      failShare: random.chance(0.3) ? 0.2 : 0,
      busyShare: random.chance(0.2) ? 0.2 : 0,
      workMsMax: random.pick([5, 200, 3_000]),
    };
  }

  #planTrouble(): void {
    const { workerDeaths, workerPauses, clientDeaths, crashes, takeovers, stalls, clockJumps } = this.#faults;
    if (this.#hasSide(...withWorkers)) {
      this.#often(workerDeaths, () => this.#killWorker());
      this.#often(workerPauses, () => this.#pause(this.#random.pick(this.#workers).process, 8_000));
      this.#often(this.#faults.forgeries, () => this.#forge());
    }
    if (this.#hasSide(...withAskers)) {
      this.#often(clientDeaths, () => {
        this.#random.pick(this.#clients).process.isDead = true;
      });
    }
    for (const side of this.#sides) side.planTrouble();
    this.#often(crashes, () => this.#crash());
    this.#often(takeovers, () => this.#takeOver());
    this.#often(stalls, () => {
      if (this.#yard !== undefined) this.#pause(this.#yard.process, 6_000);
    });
    this.#often(clockJumps, () => {
      this.#world.wallOffset += this.#random.pick([-3_600_000, 3_600_000, 60_000, -60_000]);
      this.#world.say("scenario", () => `the wall clock jumps to ${this.#world.wallOffset}`);
    });
  }

  /** Plans something to happen so many times a second, at random moments, while there is trouble. */
  #often(perSecond: number, happen: () => void): void {
    for (let count = (perSecond * troubleMs) / 1000; count > 0; count -= 1) {
      if (count < 1 && !this.#random.chance(count)) break;
      this.#world.plan(this.#environment, this.#random.between(0, troubleMs), happen);
    }
  }

  #pause(process: Process, msMax: number): number {
    const ms = this.#random.between(100, msMax);
    process.pausedUntil = Math.max(process.pausedUntil, this.#world.time + ms);
    this.#world.say(process.name, () => `PAUSED for ${ms.toFixed(0)} ms`);
    return ms;
  }

  #killWorker(): void {
    const worker = this.#random.pick(this.#workers);
    const { process } = worker;
    if (process.isDead) return;
    process.isDead = true;
    this.#world.say(process.name, () => "DIES");
    if (this.#random.chance(0.6)) {
      const yard = this.#yard;
      if (yard !== undefined) this.#world.plan(yard.process, 1, () => yard.door.closed(process.name));
    }
    this.#world.plan(this.#environment, this.#random.between(10, 8_000), () => {
      if (worker.process === process) worker.start();
    });
  }

  #forge(): void {
    const worker = this.#random.pick(this.#workers);
    const held = this.#checker.attemptOfAnother(worker.plan.name);
    if (held !== undefined && !worker.process.isDead) worker.forge(held, held.payload);
  }

  #crash(): void {
    if (this.#yard === undefined) return;
    this.#yard.process.isDead = true;
    for (const side of this.#sides) side.yardDied(this.#yard.process);
    this.#endLife("CRASHES");
  }

  /** A second dispatcher takes the store over while the first still runs; that one must find out, and stop. */
  #takeOver(): void {
    if (this.#yard === undefined) return;
    this.#pause(this.#yard.process, 3_000);
    for (const side of this.#sides) side.yardDeposed(this.#yard.process);
    this.#endLife("IS TAKEN FOR DEAD");
  }

  #endLife(what: string): void {
    this.#world.say("yard", () => what);
    this.#countLost();
    this.#yard = undefined;
    this.#world.plan(this.#environment, this.#random.between(1, 3_000), () => void this.#startAgain());
  }

  #startAgain(): void {
    if (this.#yard !== undefined) return;
    this.#world.drain();
    this.#startYard().catch((error: Error) => {
      this.#fault ??= error;
    });
  }

  async #startYard(): Promise<void> {
    this.#lives += 1;
    const process = new Process("yard");
    this.#opening = process;
    const clock = this.#world.clockOf(process);
    const disk = new SimulatedDisk(this.#store, this.#world, this.#random, process, () => this.#disk);
    const runtime = new Runtime({
      engine: disk,
      clock,
      core: {
        ...defaultCoreOptions,
        limits: { ...defaultLimits, payloadBytes: 1_000 },
        queueDefaults: this.#queueDefaults,
        graceMs: 2_000,
        random: () => this.#random.next(),
      },
      checksAlways: this.#options.checksInvariants ?? true,
      onFatal: (fault) => this.#onFatal(process, fault),
    });
    const door = new SignalDoor(runtime.port("sim"), (to, signal) => this.#network.send("yard", to, signal));
    runtime.attach(door);
    for (const side of this.#sides) runtime.attach(side.makeDoor(runtime.port(side.door), process));
    await runtime.start();
    await runtime.openDoors();
    if (process.isDead) return;
    this.#opening = undefined;
    this.#yard = { process, runtime, door };
    this.#checker.epoch = runtime.epoch;
    this.#network.attach("yard", { process, receive: (from, signal) => this.#receive(door, from, signal) });
    this.#world.say("yard", () => `is open, life ${this.#lives}`);
  }

  #receive(door: SignalDoor, ...[from, signal]: Parameters<SignalDoor["receive"]>): void {
    door.receive(from, signal);
  }

  #onFatal(process: Process, fault: Error): void {
    if (fault.message.startsWith("invariant")) this.#fault ??= fault;
    process.isDead = true;
    for (const side of this.#sides) side.yardDied(process);
    this.#world.say("yard", () => `STOPS: ${fault.message}`);
    if (this.#yard?.process === process || this.#opening === process) this.#endLife("has stopped");
  }

  /** From here on nothing goes wrong: whoever lives comes back, and everything accepted must end. */
  #heal(): void {
    this.#network.faults = noFaults.network;
    this.#disk = noFaults.disk;
    this.#world.say("scenario", () => "heals");
    for (const side of this.#sides) side.heal();
    if (!this.#hasSide(...withWorkers)) return;
    for (const worker of this.#workers) if (worker.process.isDead) worker.start();
    // Somebody who always works: without a worker nothing has to end.
    const plan = {
      ...this.#drawWorker("worker-last"),
      pulls: false,
      failShare: 0,
      busyShare: 0,
      workMsMax: 50,
    };
    this.#workers.push(new SimulatedWorker(this.#world, this.#network, this.#random, this.#checker, plan));
  }

  #countLost(): void {
    if (this.#yard === undefined) return;
    for (const [, reason, count] of this.#yard.runtime.counters.lostAttempts.entries()) {
      this.#lost += count;
      if (reason === "silence" || reason === "lease_over") this.#lostToSilence += count;
    }
    this.#stalledMs += this.#yard.runtime.stalledMs;
  }
}
