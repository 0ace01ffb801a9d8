// A simulated worker that behaves like the original program's: a timer that pings while it works
// and sends READY after three silent seconds, from then on a second thread, a socket that is kept
// for good, and answers that name their job. Some repeat an answer before the next one.

import { bodyOfParts, pingpong } from "@yardmaster/dialects";
import type { PingpongChecker } from "./pingpong-checker.js";
import { resultOf } from "./pingpong-worker.js";
import type { Plug } from "./plug.js";
import { StreamPeer } from "./stream-peer.js";

export interface OriginalWorkerPlan {
  readonly name: string;
  readonly workMsMax: number;
  /** How often it repeats its last answer before the current one. */
  readonly repeatShare: number;
}

const brokerTimeoutMs = 1_000;
const aliveness = 3;
/** The original starts another one each time; a few are enough to run jobs in parallel. */
const threadsMax = 3;

export class OriginalWorker extends StreamPeer<PingpongChecker, OriginalWorkerPlan> {
  #plug: Plug | undefined;
  /** Messages sent without a connection; ZeroMQ keeps them. */
  #unsent: Buffer[][] = [];
  /** Received messages that no thread has taken yet. */
  #inbox: Buffer[][] = [];
  #threads = 1;
  #busy = 0;
  #aliveness = aliveness;
  #lastAnswer: Buffer[] | undefined;
  #cancelTimer = () => {};

  constructor(...given: ConstructorParameters<typeof StreamPeer<PingpongChecker, OriginalWorkerPlan>>) {
    super(...given);
    this.start();
  }

  protected begin(): void {
    this.#unsent = [];
    this.#inbox = [];
    this.#threads = 1;
    this.#busy = 0;
    this.#aliveness = aliveness;
    this.#lastAnswer = undefined;
    this.#plug = this.connect({
      ...{ endpoint: "workers", socketType: "DEALER" },
      came: () => {
        for (const frames of this.#unsent.splice(0)) this.#put(frames);
      },
      receive: (line, frames) => this.#received(line, frames),
    });
    this.#send(pingpong.writeFromWorker({ type: "ready" }));
  }

  /** The original never restarts: it keeps its state. */
  startAnew(): void {}

  #received(line: number, frames: Buffer[]): void {
    const { name } = this.plan;
    const reading = pingpong.readFromBroker(frames, "program");
    if (!reading.ok) throw new Error(`${name} was sent what it cannot read: ${reading.fault}`);
    const { message } = reading;
    if (message.type === "job")
      this.checker.jobArrived({ worker: name, line, parts: message.parts, client: message.client });
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
    this.world.plan(this.process, this.random.between(1, this.plan.workMsMax), () => {
      const result = resultOf(this.plan.name, parts);
      const answer = pingpong.writeFromWorker({ type: "result", result: bodyOfParts(result), client });
      if (this.#lastAnswer !== undefined && this.random.chance(this.plan.repeatShare))
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
    this.checker.workerSaid(line, frames);
    this.#plug?.send(frames);
  }

  #resetTimer(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.world.plan(this.process, brokerTimeoutMs, () => this.#timeIsOver());
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
