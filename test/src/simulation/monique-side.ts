// Monique's part of a run: components that ask, workers behind a controller, their connections, the real door, and what
// goes wrong with them.

import { defaultQueueSettings, type QueueSettings } from "@yardmaster/core";
import { MoniqueDoor, type Port, Tap } from "@yardmaster/server";
import { drawPingpongFaults, noPingpongFaults, type PingpongFaults } from "./faults.js";
import { MoniqueAsker } from "./monique-asker.js";
import { MoniqueChecker } from "./monique-checker.js";
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
  readonly #streams: Streams;
  readonly #faults: PingpongFaults;
  readonly #form: "d1" | "d3";
  readonly #comesLate: boolean;
  readonly #sharesHost: boolean;
  readonly #askers: MoniqueAsker[] = [];
  readonly #workers: MoniqueSimulatedWorker[] = [];
  #lookAgainAt = 0;

  constructor(options: SideOptions, { comesLate }: { readonly comesLate: boolean }) {
    this.#options = options;
    this.#comesLate = comesLate;
    const { random, world, store } = options;
    const drawn = options.isQuiet ? noPingpongFaults : drawPingpongFaults(random);
    // A subscription that is late on the wire, too, may miss the second that it has; and a connection of which only one end
    // knows that it is broken takes answers that nobody hears.
    this.#faults = comesLate ? noPingpongFaults : drawn;
    this.#sharesHost = comesLate && random.chance(0.5);
    this.#form = random.pick(["d1", "d3"] as const);
    this.queueSettings = {
      ...defaultQueueSettings,
      attemptTimeoutMs: random.chance(0.3) ? random.integer(300, 3_000) : 0,
      // What is refused, or killed before it was read, is said once: who comes later still does not hear it.
      maxWaiting: random.chance(0.3) && !comesLate ? random.integer(1, 5) : defaultQueueSettings.maxWaiting,
    };
    this.checker = new MoniqueChecker(store);
    this.#streams = new Streams(world, random, this.#faults.streams);
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
      sockets: simulatedSockets(this.#streams, process, {
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
      this.#askers.push(new MoniqueAsker(world, this.#streams, random, this.checker, plan));
    }
    for (let index = random.integer(1, 4); index > 0; index -= 1) this.#addWorker(`fitter-${index}`);
  }

  planTrouble(): void {
    const { random, faults, often, pause } = this.#options;
    const { streams, clientPauses, clientLives } = this.#faults;
    often(faults.workerDeaths, () => this.#streams.kill(random.pick(this.#workers)));
    often(faults.workerPauses, () => this.#pause(random.pick(this.#workers).process, pause));
    often(clientLives, () => this.#streams.kill(random.pick(this.#askers)));
    often(clientPauses, () => this.#pause(random.pick(this.#askers).process, pause));
    often(streams.breaks, () => this.#streams.breakOne());
  }

  yardDied(process: Process): void {
    this.#streams.yardDied(process);
  }

  yardDeposed(process: Process): void {
    this.checker.hadTwoYards = true;
    this.#streams.yardDeposed(process);
  }

  heal(): void {
    this.#streams.heal();
    if (!this.#options.isQuiet) for (const worker of this.#workers) this.#restart(worker);
    // Somebody who always works.
    this.#addWorker("fitter-0", 50);
  }

  /** Looks at the whole disk, so not at every step. */
  isComplete(): boolean {
    const { world } = this.#options;
    if (world.time < this.#lookAgainAt) return false;
    this.#lookAgainAt = world.time + 20;
    return this.checker.isComplete((line) => this.#streams.isWhole(line));
  }

  finish(): void {
    this.checker.finish((line) => this.#streams.isWhole(line));
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
    this.#workers.push(new MoniqueSimulatedWorker(world, this.#streams, random, this.checker, plan));
  }

  /**
   * An answer that was lost with the connection it was pushed over is missed by nobody [monique 4.6]: its worker waits for
   * work and is taken for busy, until somebody starts it anew.
   */
  #restart(worker: MoniqueSimulatedWorker): void {
    const { process } = worker;
    if (!process.isDead) this.#streams.peerDied(process);
    process.isDead = true;
    worker.start();
  }

  #pause(process: Process, pause: SideOptions["pause"]): void {
    if (!process.isDead) this.#streams.fallsSilent(process, pause(process, 8_000));
  }
}
