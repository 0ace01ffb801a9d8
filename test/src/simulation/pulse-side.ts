// Pulse's part of a run: its workers, their sockets, the real door, and their faults. Other
// dialects submit the tasks.

import type { pulse } from "@yardmaster/dialects";
import { type Port, PulseDoor, Tap } from "@yardmaster/server";
import { drawPulseFaults, noPulseFaults, type PulseFaults } from "./faults.js";
import { PulseChecker } from "./pulse-checker.js";
import { type PulseWorkerPlan, SimulatedPulseWorker } from "./pulse-worker.js";
import type { Side, SideOptions } from "./side.js";
import { UnixSockets } from "./unix-sockets.js";
import { Process } from "./world.js";

export class PulseSide implements Side {
  readonly door = "pulse";
  readonly acceptedCount = 0;
  readonly checker: PulseChecker;
  readonly connections = { yardDied: (process: Process) => this.#sockets.died(process) };
  readonly #options: SideOptions;
  readonly #faults: PulseFaults;
  readonly #sockets: UnixSockets;
  readonly #numbering: pulse.Numbering | "auto";
  readonly #workers: SimulatedPulseWorker[] = [];

  constructor(options: SideOptions) {
    this.#options = options;
    const { random, world, store, isQuiet } = options;
    const drawn = drawPulseFaults(random);
    this.#faults = isQuiet ? noPulseFaults : drawn;
    this.#sockets = new UnixSockets(world, random, this.#faults.sockets);
    this.#numbering = random.pick(["auto", "document", "main"] as const);
    this.checker = new PulseChecker(store);
    world.say(
      "scenario",
      () => `pulse on ${options.queue}, ${this.#numbering}: ${JSON.stringify(this.#faults)}`,
    );
  }

  makeDoor(port: Port, process: Process): PulseDoor {
    return new PulseDoor({
      port,
      config: { dir: "", numbering: this.#numbering, queue: this.#options.queue },
      data: "",
      payloadBytesMax: 10_000,
      peersMax: 1_000,
      log: () => {},
      tap: new Tap(),
      // Short, so that they occur within the run.
      times: { pulseMsMax: 2_000, connectMsMax: 1_000, silenceMs: 3_000 },
      openFolder: () => this.#sockets.folderOf(process),
    });
  }

  populate(): void {
    const { random } = this.#options;
    for (let index = random.integer(1, 4); index > 0; index -= 1) this.#addWorker(`stoker-${index}`);
  }

  planTrouble(): void {
    const { random, faults, often, pause } = this.#options;
    often(faults.workerDeaths, () => this.#kill(random.pick(this.#workers)));
    often(faults.workerPauses, () => pause(random.pick(this.#workers).process, 8_000));
    often(this.#faults.shutdowns, () => this.#shutDown(random.pick(this.#workers)));
  }

  heal(): void {
    this.#sockets.faults = noPulseFaults.sockets;
    for (const worker of this.#workers) if (worker.process.isDead) worker.start();
    // A worker that never fails.
    this.#addWorker("stoker-0", { failShare: 0, busyShare: 0, brokenShare: 0, muteShare: 0, workMsMax: 50 });
  }

  /** The clients of other dialects check that. */
  isComplete(): boolean {
    return true;
  }

  finish(): void {}

  wasGiven(worker: string, payload: string): boolean {
    return this.checker.wasGiven(worker, payload);
  }

  #addWorker(name: string, given: Partial<PulseWorkerPlan> = {}): void {
    const { random, world, isQuiet } = this.#options;
    const drawn = random.pick(["document", "main"] as const);
    const some = (share: number) => (random.chance(0.2) && !isQuiet ? share : 0);
    const plan: PulseWorkerPlan = {
      name,
      numbering: this.#numbering === "auto" ? drawn : this.#numbering,
      nextPulseSeconds: random.pick([2, 5, 60]),
      worksInside: random.chance(0.4),
      failShare: some(0.2),
      busyShare: some(0.3),
      brokenShare: some(0.05),
      muteShare: some(0.1),
      isWordy: random.chance(0.1),
      workMsMax: random.pick([5, 200, 3_000]),
      ...given,
    };
    this.#workers.push(new SimulatedPulseWorker(world, this.#sockets, random, this.checker, plan));
  }

  #kill(worker: SimulatedPulseWorker): void {
    const { process } = worker;
    if (process.isDead) return;
    process.isDead = true;
    this.#options.world.say(process.name, () => "DIES");
    this.#sockets.died(process);
    this.#comeBack(worker);
  }

  #shutDown(worker: SimulatedPulseWorker): void {
    if (worker.process.isDead) return;
    worker.shutDown();
    this.#comeBack(worker);
  }

  #comeBack(worker: SimulatedPulseWorker): void {
    const { random, world } = this.#options;
    const { process } = worker;
    world.plan(environment, random.between(10, 8_000), () => {
      if (worker.process === process && process.isDead) worker.start();
    });
  }
}

const environment = new Process("environment");
