// Monique's part of a run: components that ask, workers behind a controller, their connections, the
// real door, and their faults.

import { defaultQueueSettings, type QueueSettings } from "@yardmaster/core";
import { MoniqueDoor, type Port, Tap } from "@yardmaster/server";
import { drawPingpongFaults, noPingpongFaults, type PingpongFaults } from "./faults.js";
import { MoniqueChecker } from "./monique-checker.js";
import { MoniqueClient } from "./monique-client.js";
import { moniquePorts, simulatedSockets } from "./monique-sockets.js";
import { MoniqueSimulatedWorker } from "./monique-worker.js";
import type { Side, SideOptions } from "./side.js";
import { Streams } from "./streams.js";
import type { Process } from "./world.js";

export class MoniqueSide implements Side {
  readonly door = "monique";
  readonly checker: MoniqueChecker;
  readonly queueSettings: QueueSettings;
  readonly #options: SideOptions;
  readonly connections: Streams;
  readonly #faults: PingpongFaults;
  readonly #form: "d1" | "d3";
  readonly #comesLate: boolean;
  readonly #sharesHost: boolean;
  readonly #clients: MoniqueClient[] = [];
  readonly #workers: MoniqueSimulatedWorker[] = [];
  #lookAgainAt = 0;

  constructor(options: SideOptions, { comesLate }: { readonly comesLate: boolean }) {
    this.#options = options;
    this.#comesLate = comesLate;
    const { random, world, store } = options;
    const drawn = options.isQuiet ? noPingpongFaults : drawPingpongFaults(random);
    // With further delays a subscription could miss its one-second window, and a half-broken
    // connection would swallow answers.
    this.#faults = comesLate ? noPingpongFaults : drawn;
    this.#sharesHost = comesLate && random.chance(0.5);
    this.#form = random.pick(["d1", "d3"] as const);
    this.queueSettings = {
      ...defaultQueueSettings,
      attemptTimeoutMs: random.chance(0.3) ? random.integer(300, 3_000) : 0,
      // A refusal, or a kill before the question was read, is published once, so a late client
      // would miss it.
      maxWaiting: random.chance(0.3) && !comesLate ? random.integer(1, 5) : defaultQueueSettings.maxWaiting,
    };
    this.checker = new MoniqueChecker(store, () => this.connections.hadTwoYards);
    this.connections = new Streams(world, random, this.#faults.streams);
    world.say("scenario", () => `monique on ${options.queue}: ${JSON.stringify(this.#faults)}`);
  }

  get acceptedCount(): number {
    return this.checker.acceptedCount;
  }

  makeDoor(port: Port, process: Process): MoniqueDoor {
    const at = (name: keyof typeof moniquePorts) => ({ host: "yard", port: moniquePorts[name] });
    return new MoniqueDoor({
      port,
      config: {
        ...{ in: at("in"), out: at("out"), techIn: at("techIn"), techOut: at("techOut"), form: this.#form },
        ...{ allowMessages: [], specs: {}, prefetch: 1 },
        controllers: { [this.#options.queue]: moniquePorts.controller },
      },
      queues: [],
      payloadBytesMax: 1_000,
      peersMax: 1_000,
      log: () => {},
      tap: new Tap(),
      sockets: simulatedSockets(this.connections, process, {
        onMissed: (line) => this.checker.missed(line),
        sharesHost: this.#sharesHost,
      }),
    });
  }

  populate(): void {
    const { random, world, troubleMs, queue } = this.#options;
    for (let index = random.integer(1, 3); index > 0; index -= 1) {
      const plan = {
        name: `quizzer-${index}`,
        spec: queue,
        form: random.pick(["d1", "d2", "d3", "d3"] as const),
        questions: random.integer(1, 15),
        overMs: random.pick([1_000, troubleMs * 0.8]),
        killShare: random.chance(0.3) && !this.#comesLate ? 0.3 : 0,
        pastShare: random.chance(0.3) ? 0.2 : 0,
        isObserver: random.chance(0.5),
        habit: this.#comesLate ? (this.#sharesHost ? "late-unknown" : "late") : "careful",
      } as const;
      this.#clients.push(new MoniqueClient(world, this.connections, random, this.checker, plan));
    }
    for (let index = random.integer(1, 4); index > 0; index -= 1) this.#addWorker(`fitter-${index}`);
  }

  planTrouble(): void {
    const { random, faults, often, pause } = this.#options;
    const { streams, clientPauses, clientLives } = this.#faults;
    often(faults.workerDeaths, () => this.connections.kill(random.pick(this.#workers)));
    often(faults.workerPauses, () => this.#pause(random.pick(this.#workers).process, pause));
    often(clientLives, () => this.connections.kill(random.pick(this.#clients)));
    often(clientPauses, () => this.#pause(random.pick(this.#clients).process, pause));
    often(streams.breaks, () => this.connections.breakOne());
  }

  heal(): void {
    this.connections.heal();
    if (!this.#options.isQuiet) for (const worker of this.#workers) this.#restart(worker);
    // A worker that never fails.
    this.#addWorker("fitter-0", 50);
  }

  /** Reads the whole disk, so it is not called at every step. */
  isComplete(): boolean {
    const { world } = this.#options;
    if (world.time < this.#lookAgainAt) return false;
    this.#lookAgainAt = world.time + 20;
    return this.checker.isComplete((line) => this.connections.isWhole(line));
  }

  finish(): void {
    this.checker.finish((line) => this.connections.isWhole(line));
  }

  wasGiven(worker: string, payload: string): boolean {
    return this.checker.wasGiven(worker, payload);
  }

  #addWorker(name: string, workMsMax?: number): void {
    const { random, world } = this.#options;
    const plan = {
      name,
      creator: random.chance(0.5) ? name : "fitter",
      workMsMax: workMsMax ?? random.pick([5, 200, 3_000]),
      failShare: workMsMax === undefined && random.chance(0.3) ? 0.2 : 0,
    };
    this.#workers.push(new MoniqueSimulatedWorker(world, this.connections, random, this.checker, plan));
  }

  /**
   * If an answer is lost with its connection, the dispatcher does not notice [monique 4.6]. The
   * worker waits for work and counts as busy until it is restarted.
   */
  #restart(worker: MoniqueSimulatedWorker): void {
    const { process } = worker;
    if (!process.isDead) this.connections.peerDied(process);
    process.isDead = true;
    worker.start();
  }

  #pause(process: Process, pause: SideOptions["pause"]): void {
    if (!process.isDead) this.connections.fallsSilent(process, pause(process, 8_000));
  }
}
