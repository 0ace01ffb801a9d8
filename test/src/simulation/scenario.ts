// One seed, one run: it draws the peers and the faults, lets faults happen for a while, then heals
// everything and checks the promise.

import { defaultCoreOptions, defaultLimits, type QueueSettings } from "@yardmaster/core";
import { MemoryStore } from "@yardmaster/engines";
import { Runtime } from "@yardmaster/server";
import { Checker, Violation } from "./checker.js";
import { type DiskFaults, SimulatedDisk, SimulatedFolder } from "./disk.js";
import { drawFaults, type Faults, noFaults } from "./faults.js";
import { drawLimits, LimitsChecker } from "./limits-checker.js";
import type { NetworkFaults } from "./network.js";
import { makeSides, type Population, populations, sharedQueues } from "./populations.js";
import { Random } from "./random.js";
import type { Side, SideOptions } from "./side.js";
import { Process, World } from "./world.js";

export interface Report {
  readonly seed: number;
  readonly violation: string | undefined;
  readonly accepted: number;
  readonly lives: number;
  readonly lostAttempts: number;
  /** The attempts among those that were lost because the worker was silent. */
  readonly lostToSilence: number;
  readonly stalledMs: number;
}

export interface RunOptions {
  readonly seed: number;
  readonly trace?: (line: string) => void;
  /** Replaces the faults that the seed would draw. */
  readonly faults?: Partial<Faults>;
  readonly population?: Population;
  /** A dialect that is in no population, in place of the one that the seed would draw. */
  readonly makeSide?: (options: SideOptions) => Side;
  /** Replaces the datagram faults that the seed would draw, for real dialects. */
  readonly datagrams?: NetworkFaults;
  /** False to see what the checker finds by itself. */
  readonly checksInvariants?: boolean;
}

const troubleMs = 20_000;
const graceMs = 2_000;
/** Backoff goes up to a minute; after this time without faults everything must have ended. */
const healMs = 900_000;

export async function runSeed(options: RunOptions): Promise<Report> {
  const run = new Run(options);
  try {
    await run.go();
    return run.report(undefined);
  } catch (error) {
    if (error instanceof Violation || error instanceof Error) return run.report(error.stack ?? error.message);
    throw error;
  } finally {
    run.end();
  }
}

class Run {
  readonly #options: RunOptions;
  readonly #random: Random;
  readonly #world: World;
  readonly #store = new MemoryStore();
  readonly #folder: SimulatedFolder;
  readonly #checker: Checker;
  readonly #faults: Faults;
  readonly #environment = new Process("environment");
  readonly #population: Population;
  readonly #sides: readonly Side[];
  readonly #queueDefaults: QueueSettings;
  #disk: DiskFaults;
  #yard: { readonly process: Process; readonly runtime: Runtime } | undefined;
  /** Dispatchers whose store another one has taken over. */
  readonly #deposed: Process[] = [];
  /** A dispatcher that has started and is not open yet. */
  #opening: Process | undefined;
  #lives = 0;
  #lost = 0;
  #lostToSilence = 0;
  #stalledMs = 0;
  #fault: Error | undefined;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#folder = new SimulatedFolder(this.#store, options.seed, (fault) => {
      this.#fault ??= fault;
    });
    this.#world = new World(options.trace);
    this.#faults = { ...drawFaults(this.#random), ...options.faults };
    this.#disk = this.#faults.disk;
    this.#checker = new Checker(this.#store);
    this.#world.say("scenario", () => JSON.stringify(this.#faults));
    const random = new Random(~options.seed);
    const drawn = random.pick(populations);
    this.#population = options.population ?? drawn;
    const { sides, queueDefaults } = makeSides(this.#population, this.#checker, (queue) =>
      this.#side(random, queue),
    );
    this.#sides = options.makeSide === undefined ? sides : [options.makeSide(this.#side(random, "sim"))];
    this.#queueDefaults = this.#population === "limited" ? drawLimits(random, queueDefaults) : queueDefaults;
    if (this.#population === "limited") {
      const hasTimes = this.#faults.clockJumps === 0;
      this.#checker.limits = new LimitsChecker(this.#store, this.#queueDefaults, { hasTimes, graceMs });
    }
    this.#checker.wasGivenElsewhere = (worker, payload) =>
      this.#sides.some((side) => side.wasGiven(worker, payload));
  }

  /** Http runs on promises and streams, which need turns of the event loop. */
  get #hasHttp(): boolean {
    return this.#sides.some(({ door }) => door === "http");
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
    for (const side of this.#sides) side.populate();
    this.#planTrouble();
    await this.#world.run(troubleMs, () => this.#fault !== undefined);
    this.#heal();
    await this.#world.run(troubleMs + healMs, () => this.#fault !== undefined || this.#isOver());
    if (this.#fault !== undefined) throw this.#fault;
    this.#world.say("scenario", () => "over");
    for (const side of this.#sides) side.finish();
    this.#yard?.runtime.core.checkInvariants();
  }

  end(): void {
    this.#world.end();
  }

  report(violation: string | undefined): Report {
    this.#countLost();
    return {
      seed: this.#options.seed,
      violation,
      accepted: this.#sides.reduce((sum, side) => sum + side.acceptedCount, 0),
      lives: this.#lives,
      lostAttempts: this.#lost,
      lostToSilence: this.#lostToSilence,
      stalledMs: this.#stalledMs,
    };
  }

  #isOver(): boolean {
    return this.#yard !== undefined && this.#sides.every((side) => side.isComplete());
  }

  #planTrouble(): void {
    const { crashes, takeovers, stalls, clockJumps } = this.#faults;
    for (const side of this.#sides) side.planTrouble();
    this.#often(crashes, () => this.#crash());
    this.#often(takeovers, () => this.#takeOver());
    this.#often(stalls, () => {
      if (this.#yard !== undefined) this.#pause(this.#yard.process, 6_000);
    });
    this.#often(clockJumps, () => {
      this.#world.jumpWall(this.#random.pick([-3_600_000, 3_600_000, 60_000, -60_000]));
      this.#world.say("scenario", () => `the wall clock jumps to ${this.#world.wallOffset}`);
    });
  }

  /** Plans an event at random times with this average rate, while there are faults. */
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

  #crash(): void {
    if (this.#yard === undefined) return;
    this.#kill(this.#yard.process);
    this.#endLife("CRASHES");
  }

  #kill(process: Process): void {
    process.isDead = true;
    for (const side of this.#sides) side.connections?.yardDied(process);
  }

  /**
   * A second dispatcher takes over the store while the first still runs. The first must notice and
   * stop.
   */
  #takeOver(): void {
    if (this.#yard === undefined) return;
    this.#pause(this.#yard.process, 3_000);
    this.#deposed.push(this.#yard.process);
    for (const side of this.#sides) side.connections?.yardDeposed?.();
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
    const process = new Process("yard", this.#hasHttp);
    this.#opening = process;
    const clock = this.#world.clockOf(process);
    const disk = new SimulatedDisk(this.#folder, this.#world, this.#random, process, () => this.#disk);
    const runtime = new Runtime({
      engine: disk,
      clock,
      core: {
        ...defaultCoreOptions,
        limits: { ...defaultLimits, payloadBytes: 1_000 },
        queueDefaults: this.#queueDefaults,
        graceMs,
        random: () => this.#random.next(),
      },
      checksAlways: this.#options.checksInvariants ?? true,
      // All that are not inside their record.
      largeBodyBytes: 1,
      onFatal: (fault) => this.#onFatal(process, fault),
    });
    for (const side of this.#sides) runtime.attach(side.makeDoor(runtime.port(side.door), process));
    await runtime.start();
    await runtime.openDoors();
    if (process.isDead) return;
    this.#opening = undefined;
    this.#yard = { process, runtime };
    this.#checker.epoch = runtime.epoch;
    this.#checker.limits?.opened(runtime.epoch, this.#world.time, clock.wall());
    this.#world.say("yard", () => `is open, life ${this.#lives}`);
  }

  #onFatal(process: Process, fault: Error): void {
    if (fault.message.startsWith("invariant")) this.#fault ??= fault;
    this.#kill(process);
    this.#world.say("yard", () => `STOPS: ${fault.message}`);
    if (this.#yard?.process === process || this.#opening === process) this.#endLife("has stopped");
  }

  /**
   * No faults from here on: living peers come back, and everything accepted must end. A deposed
   * dispatcher that has not noticed is dead, so that its peers connect to its successor.
   */
  #heal(): void {
    this.#disk = noFaults.disk;
    this.#world.say("scenario", () => "heals");
    for (const process of this.#deposed) if (!process.isDead) this.#kill(process);
    for (const side of this.#sides) side.heal();
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
