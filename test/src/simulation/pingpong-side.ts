// Pingpong's part of a run: its peers, their connections, the real door, and their faults. Its
// random numbers are drawn separately, so that the seeds of other dialects are unaffected.

import { defaultQueueSettings, type QueueSettings } from "@yardmaster/core";
import { PingpongDoor, type Port, Tap } from "@yardmaster/server";
import { drawPingpongFaults, noPingpongFaults, type PingpongFaults } from "./faults.js";
import { PingpongChecker } from "./pingpong-checker.js";
import { PingpongClient } from "./pingpong-client.js";
import { OriginalWorker } from "./pingpong-original.js";
import { PingpongWorker, type PingpongWorkerPlan } from "./pingpong-worker.js";
import type { Side, SideOptions } from "./side.js";
import { Streams } from "./streams.js";
import type { Process } from "./world.js";

export class PingpongSide implements Side {
  readonly door = "pingpong";
  readonly checker: PingpongChecker;
  readonly queueSettings: QueueSettings;
  readonly #options: SideOptions;
  readonly connections: Streams;
  readonly #faults: PingpongFaults;
  readonly #form: "document" | "program";
  readonly #clients: PingpongClient[] = [];
  readonly #workers: (PingpongWorker | OriginalWorker)[] = [];
  readonly #hasOriginals: boolean;
  #lookAgainAt = 0;

  /**
   * `hasOriginals`: its workers behave like those of the original program and use the program form.
   */
  constructor(options: SideOptions, { hasOriginals = false } = {}) {
    this.#options = options;
    this.#hasOriginals = hasOriginals;
    const { random, world, store } = options;
    this.#faults = options.isQuiet ? noPingpongFaults : drawPingpongFaults(random);
    const isProgram = random.chance(0.2);
    this.#form = isProgram || hasOriginals ? "program" : "document";
    this.queueSettings = {
      ...defaultQueueSettings,
      attemptTimeoutMs: random.chance(0.2) ? random.integer(300, 3_000) : 0,
      maxWaiting: random.chance(0.3) ? random.integer(1, 5) : defaultQueueSettings.maxWaiting,
    };
    this.checker = new PingpongChecker(store);
    this.connections = new Streams(world, random, this.#faults.streams);
    world.say("scenario", () => `pingpong on ${options.queue}: ${JSON.stringify(this.#faults)}`);
  }

  get acceptedCount(): number {
    return this.checker.acceptedCount;
  }

  makeDoor(port: Port, process: Process): PingpongDoor {
    return new PingpongDoor({
      port,
      config: {
        clients: { host: "yard", port: 1 },
        workers: { host: "yard", port: 2 },
        workerExpireSeconds: 3,
        form: this.#form,
        queue: this.#options.queue,
      },
      payloadBytesMax: 1_000,
      peersMax: 1_000,
      log: () => {},
      tap: new Tap(),
      makeRouter: this.connections.routersOf(process),
    });
  }

  populate(): void {
    const { random, world, troubleMs } = this.#options;
    for (let index = random.integer(1, 3); index > 0; index -= 1) {
      const name = `asker-${index}`;
      const plan = {
        name,
        identity: random.chance(0.4) ? name : "",
        socketType: random.pick(["REQ", "DEALER"] as const),
        jobs: random.integer(1, 15),
        overMs: random.pick([1_000, troubleMs * 0.8]),
      };
      this.#clients.push(new PingpongClient(world, this.connections, random, this.checker, plan));
    }
    for (let index = random.integer(1, 4); index > 0; index -= 1) this.#addWorker(`hand-${index}`);
  }

  planTrouble(): void {
    const { random, faults, often, pause } = this.#options;
    const { streams, restarts, clientPauses, clientLives } = this.#faults;
    often(faults.workerDeaths, () => this.connections.kill(random.pick(this.#workers)));
    often(faults.workerPauses, () => this.#pause(random.pick(this.#workers).process, pause));
    often(clientLives, () => this.connections.kill(random.pick(this.#clients)));
    often(clientPauses, () => this.#pause(random.pick(this.#clients).process, pause));
    often(restarts, () => random.pick(this.#workers).startAnew());
    often(streams.breaks, () => this.connections.breakOne());
  }

  heal(): void {
    this.connections.heal();
    for (const worker of this.#workers) if (worker.process.isDead) worker.start();
    // A worker that never fails.
    this.#addWorker("hand-0", 50);
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
    if (this.#hasOriginals && random.chance(0.8)) {
      // Often longer than the time after which it sends READY.
      const plan = {
        name,
        workMsMax: workMsMax ?? random.pick([200, 5_000, 9_000]),
        repeatShare: random.pick([0, 0.5]),
      };
      this.#workers.push(new OriginalWorker(world, this.connections, random, this.checker, plan));
      return;
    }
    const plan: PingpongWorkerPlan = {
      name,
      identity: random.chance(0.4) ? name : "",
      form: this.#form,
      isUnaware: random.chance(0.3),
      workMsMax: workMsMax ?? random.pick([5, 200, 3_000]),
    };
    this.#workers.push(new PingpongWorker(world, this.connections, random, this.checker, plan));
  }

  #pause(process: Process, pause: SideOptions["pause"]): void {
    if (!process.isDead) this.connections.fallsSilent(process, pause(process, 8_000));
  }
}
