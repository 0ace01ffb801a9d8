// Http's part of a run: the real door, its clients, its workers that claim or have a stream, and
// their faults.

import { Access, HttpDoor, type HttpDoorOptions, type Port, Tap } from "@yardmaster/server";
import type { Checker } from "./checker.js";
import { drawHttpFaults, type HttpFaults, noHttpFaults } from "./faults.js";
import { ClaimingWorker } from "./http-claimer.js";
import { type ClientPlan, SimulatedClient } from "./http-client.js";
import { listenIn } from "./http-listener.js";
import { StreamingWorker } from "./http-streamer.js";
import type { WorkerPlan } from "./http-worker.js";
import type { Side, SideOptions } from "./side.js";
import { type Mortal, Streams } from "./streams.js";
import type { Process } from "./world.js";

export interface HttpPopulation {
  readonly hasWorkers: boolean;
  /** What the plans of all clients have in common. */
  readonly clients?: Partial<ClientPlan>;
}

const secretBytes = 32;
/** A lease that does not end within the run, for workers whose end the dispatcher must notice. */
const endlessLeaseMs = 3_600_000;

export class HttpSide implements Side {
  readonly door = "http";
  readonly #options: SideOptions;
  readonly #population: HttpPopulation;
  readonly #checker: Checker;
  readonly #faults: HttpFaults;
  readonly connections: Streams;
  readonly #clients: SimulatedClient[] = [];
  readonly #workers: (ClaimingWorker | StreamingWorker)[] = [];

  constructor(options: SideOptions, checker: Checker, population: HttpPopulation) {
    this.#options = options;
    this.#checker = checker;
    this.#population = population;
    const { random, world, isQuiet } = options;
    const drawn = drawHttpFaults(random);
    this.#faults = isQuiet ? noHttpFaults : drawn;
    this.connections = new Streams(world, random, this.#faults.streams);
    world.say("scenario", () => `http on ${options.queue}: ${JSON.stringify(this.#faults)}`);
  }

  get acceptedCount(): number {
    return this.#checker.acceptedCount;
  }

  makeDoor(port: Port, process: Process): HttpDoor {
    const { world, random } = this.#options;
    // Another secret in each life: tokens stay valid only because the first one is stored.
    const secret = Buffer.from(Array.from({ length: secretBytes }, () => random.integer(0, 255)));
    return new HttpDoor({
      port,
      access: new Access({ settings: undefined, doors: {} }),
      config: { listen: { host: "127.0.0.1", port: 7420 }, hosts: [] },
      payloadBytesMax: 10_000,
      secret,
      facts: { version: "0.0.0", isReady: () => true, metrics: async () => "", doors: () => ({}) },
      log: silentLog,
      tap: new Tap(),
      clock: world.clockOf(process),
      listen: listenIn({ world, random, streams: this.connections }, process),
    });
  }

  populate(): void {
    const { random, queue, troubleMs } = this.#options;
    for (let index = random.integer(1, 3); index > 0; index -= 1) {
      const tasks = random.integer(1, 15);
      const plan = { name: `client-${index}`, queue, tasks, overMs: troubleMs * 0.8, cancelShare: 0.1 };
      this.#addClient({ ...plan, ...this.#population.clients });
    }
    if (!this.#population.hasWorkers) return;
    for (let index = random.integer(1, 4); index > 0; index -= 1) this.#addWorker(`worker-${index}`);
  }

  planTrouble(): void {
    const { random, faults, often, pause } = this.#options;
    often(this.#faults.streams.breaks, () => this.connections.breakOne());
    often(faults.clientDeaths, () => this.#killForGood(random.pick(this.#clients)));
    if (!this.#population.hasWorkers) return;
    often(faults.workerDeaths, () => this.#kill(random.pick(this.#workers)));
    often(faults.workerPauses, () => pause(random.pick(this.#workers).process, 8_000));
    often(faults.forgeries, () => this.#forge());
    often(this.#faults.slowReaders, () => {
      const worker = random.pick(this.#workers);
      if (worker instanceof StreamingWorker && !worker.process.isDead)
        worker.dawdle(random.between(100, 10_000));
    });
    often(this.#faults.departures, () => this.#depart(random.pick(this.#workers)));
  }

  heal(): void {
    this.connections.heal();
    this.connections.faults = noHttpFaults.streams;
    if (!this.#population.hasWorkers) return;
    // Workers that never fail: without them nothing could end.
    const plan = { beats: true, failShare: 0, returnShare: 0, workMsMax: 50 };
    this.#addWorker("worker-last", plan, false);
    this.#addWorker("worker-very-last", plan, true);
  }

  isComplete(): boolean {
    return this.#checker.isComplete(this.#living());
  }

  finish(): void {
    this.#checker.finish(this.#living());
  }

  wasGiven(): boolean {
    return false;
  }

  #living(): Set<string> {
    return new Set(this.#clients.filter(({ process }) => !process.isDead).map(({ plan }) => plan.name));
  }

  #addClient(plan: ClientPlan): void {
    const { world, random } = this.#options;
    const client = new SimulatedClient(world, this.connections, random, this.#checker, plan);
    this.#clients.push(client);
    client.start();
  }

  #addWorker(name: string, given: Partial<WorkerPlan> = {}, isStream?: boolean): void {
    const { random, world, queue, isQuiet } = this.#options;
    const some = (share: number) => (random.chance(0.3) && !isQuiet ? share : 0);
    const streams = isStream ?? random.chance(0.5);
    const plan = {
      ...{ name, queue, slots: random.pick([1, 1, 2, 5]) },
      leaseMs: random.pick([3_000, 4_000, streams ? endlessLeaseMs : 6_000]),
      beats: isQuiet || random.chance(0.8),
      failShare: some(0.2),
      returnShare: some(0.2),
      workMsMax: random.pick([5, 200, 3_000]),
      ...given,
    };
    const Worker = streams ? StreamingWorker : ClaimingWorker;
    const worker = new Worker(world, this.connections, random, this.#checker, plan);
    this.#workers.push(worker);
    worker.start();
  }

  /** Most come back. One that does not must not keep its tasks. */
  #kill(worker: ClaimingWorker | StreamingWorker): void {
    if (this.#options.random.chance(0.7)) this.connections.kill(worker);
    else this.#killForGood(worker);
  }

  #killForGood({ process }: Mortal): void {
    if (process.isDead) return;
    process.isDead = true;
    this.#options.world.say(process.name, () => "DIES and does not come back");
    this.connections.peerDied(process);
  }

  #forge(): void {
    const worker = this.#options.random.pick(this.#workers);
    const held = this.#checker.attemptOfAnother(worker.plan.name);
    if (held !== undefined && !worker.process.isDead) worker.forge(held, held.holder, held.payload);
  }

  /** Says goodbye, ends when that has left, and comes back. */
  #depart(worker: ClaimingWorker | StreamingWorker): void {
    const { world, random } = this.#options;
    const { process } = worker;
    if (process.isDead) return;
    worker.leave();
    world.plan(process, random.between(1, 50), () => this.connections.kill(worker));
  }
}

/** The door logs peers' mistakes, which are many here. */
const silentLog = Object.fromEntries(
  ["trace", "debug", "info", "warn", "error", "fatal"].map((level) => [level, () => {}]),
) as unknown as HttpDoorOptions["log"];
