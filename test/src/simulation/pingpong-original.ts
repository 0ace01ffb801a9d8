// A simulated worker with the habits of the original program's: a timer that pings while it works and says READY after three
// silent seconds, another thread from then on, a socket that is kept for good, and answers that name their job. Some say an
// answer again when they have the next one.

import { pingpong } from "@yardmaster/dialects";
import type { PingpongChecker } from "./pingpong-checker.js";
import { resultOf } from "./pingpong-worker.js";
import { Plug } from "./plug.js";
import type { Random } from "./random.js";
import type { Streams } from "./streams.js";
import { Process, type World } from "./world.js";

export interface OriginalWorkerPlan {
  readonly name: string;
  readonly workMsMax: number;
  /** How often it says its last answer again, before the one it has. */
  readonly repeatShare: number;
}

const brokerTimeoutMs = 1_000;
const aliveness = 3;
/** The original starts one more each time; a few are enough to run jobs side by side. */
const threadsMax = 3;

export class OriginalWorker {
  process: Process;
  readonly plan: OriginalWorkerPlan;
  readonly #world: World;
  readonly #streams: Streams;
  readonly #random: Random;
  readonly #checker: PingpongChecker;
  #plug: Plug | undefined;
  /** Sent while there was no connection; ZeroMQ keeps it. */
  #unsent: Buffer[][] = [];
  /** Received, and not taken by a thread yet. */
  #inbox: Buffer[][] = [];
  #threads = 1;
  #busy = 0;
  #aliveness = aliveness;
  #lastAnswer: Buffer[] | undefined;
  #cancelTimer = () => {};

  constructor(
    world: World,
    streams: Streams,
    random: Random,
    checker: PingpongChecker,
    plan: OriginalWorkerPlan,
  ) {
    this.#world = world;
    this.#streams = streams;
    this.#random = random;
    this.#checker = checker;
    this.plan = plan;
    this.process = new Process(plan.name);
    this.start();
  }

  start(): void {
    this.process = new Process(this.plan.name);
    this.#unsent = [];
    this.#inbox = [];
    this.#threads = 1;
    this.#busy = 0;
    this.#aliveness = aliveness;
    this.#lastAnswer = undefined;
    this.#plug = new Plug(this.#world, this.#streams, this.#random, {
      process: this.process,
      endpoint: "workers",
      socketType: "DEALER",
      identity: "",
      came: () => {
        for (const frames of this.#unsent.splice(0)) this.#put(frames);
      },
      receive: (line, frames) => this.#received(line, frames),
      gone: () => {},
    });
    this.#send(pingpong.writeFromWorker({ type: "ready" }));
  }

  /** It never does: it keeps what it has. */
  startAnew(): void {}

  #received(line: number, frames: Buffer[]): void {
    const { name } = this.plan;
    const reading = pingpong.readFromBroker(frames, "program");
    if (!reading.ok) throw new Error(`${name} was sent what it cannot read: ${reading.fault}`);
    const { message } = reading;
    if (message.type === "job")
      this.#checker.jobArrived({ worker: name, line, parts: message.parts, client: message.client });
    this.#inbox.push(frames);
    this.#takeNext();
  }

  #takeNext(): void {
    while (this.#busy < this.#threads) {
      const frames = this.#inbox.shift();
      if (frames === undefined) return;
      this.#aliveness = aliveness;
      this.#resetTimer();
      const reading = pingpong.readFromBroker(frames, "program");
      if (reading.ok && reading.message.type === "job") this.#work(reading.message);
    }
  }

  #work({ parts, client = Buffer.alloc(0) }: { parts: readonly Buffer[]; client?: Buffer }): void {
    this.#busy += 1;
    this.#world.plan(this.process, this.#random.between(1, this.plan.workMsMax), () => {
      const result = resultOf(this.plan.name, parts);
      const answer = pingpong.writeFromWorker({ type: "result", parts: result, client });
      if (this.#lastAnswer !== undefined && this.#random.chance(this.plan.repeatShare))
        this.#send(this.#lastAnswer);
      this.#lastAnswer = answer;
      this.#send(answer);
      this.#busy -= 1;
      this.#takeNext();
    });
  }

  #send(frames: Buffer[]): void {
    this.#resetTimer();
    if (this.#plug?.line === undefined) this.#unsent.push(frames);
    else this.#put(frames);
  }

  #put(frames: Buffer[]): void {
    const line = this.#plug?.line;
    if (line === undefined) return;
    this.#checker.workerSaid(line, frames);
    this.#plug?.send(frames);
  }

  #resetTimer(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#world.plan(this.process, brokerTimeoutMs, () => this.#timeIsOver());
  }

  #timeIsOver(): void {
    this.#aliveness -= 1;
    if (this.#aliveness > 0) {
      this.#send(pingpong.writeFromWorker({ type: "ping" }));
      return;
    }
    this.#aliveness = aliveness;
    this.#threads = Math.min(this.#threads + 1, threadsMax);
    this.#send(pingpong.writeFromWorker({ type: "ready" }));
    this.#takeNext();
  }
}
