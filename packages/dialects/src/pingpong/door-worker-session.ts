// One worker as the broker sees it: whether it is known, and the one job it has. It reads messages and effects, and says
// what to tell the core and what to send; it knows neither bytes nor sockets.

import type { AttemptNumber, Effect, LossReason, TaskId, WorkerId, YardEvent } from "@yardmaster/core";
import { bodyOfParts, partsOf } from "../parts.js";
import { canBeGiven } from "./codec.js";
import type { BrokerMessage, PingpongForm, WorkerMessage } from "./messages.js";

type Assign = Extract<Effect, { type: "assign" }>;

/** What the session wants done. */
export interface WorkerSessionHost {
  post(event: YardEvent): void;
  /** False when it cannot be sent: the peer is gone, or takes nothing. */
  send(message: BrokerMessage, client: Buffer): boolean;
  /** A result came that nobody waits for. */
  unexpected(): void;
}

export interface WorkerSessionOptions {
  readonly id: WorkerId;
  readonly address: string;
  readonly queue: string;
  readonly form: PingpongForm;
}

const noClient = Buffer.alloc(0);
const pong: BrokerMessage = { type: "pong" };
/** A worker that does not even take a PONG's worth of bytes is left in peace for a while. */
const unsentHoldMs = 1_000;

export class PingpongDoorWorker {
  readonly #options: WorkerSessionOptions;
  readonly #host: WorkerSessionHost;
  #isKnown = false;
  #job: { readonly task: TaskId; readonly attempt: AttemptNumber } | undefined;

  constructor(options: WorkerSessionOptions, host: WorkerSessionHost) {
    this.#options = options;
    this.#host = host;
  }

  get id(): WorkerId {
    return this.#options.id;
  }

  /** [pingpong 5.2] Only an idle worker expires by silence: a busy one does not ping. */
  get mayExpire(): boolean {
    return this.#isKnown && this.#job === undefined;
  }

  receive(message: WorkerMessage): void {
    switch (message.type) {
      case "ping":
        // [pingpong 2.2] At once; [pingpong 2.4] while a job is out it means nothing more.
        this.#host.send(pong, noClient);
        if (!this.#isKnown) this.#join();
        return;
      case "ready":
        // [pingpong 2.1] A worker that has a job and says it is ready has started anew.
        if (this.#job !== undefined) this.leave("restarted");
        this.#join();
        return;
      case "disconnect":
        if (this.#job === undefined) this.leave("goodbye");
        else this.#finish(message.parts);
        return;
      case "result":
        this.#finish(message.parts);
        return;
      default:
        message satisfies never;
    }
  }

  assign({ task, attempt }: Assign): void {
    const { id, form } = this.#options;
    const parts = partsOf(task.payload);
    const job = { worker: id, task: task.id, attempt };
    if (!canBeGiven(parts, form)) {
      this.#host.post({ type: "attempt-returned", reason: "does_not_fit", ...job });
      return;
    }
    this.#job = job;
    const client = form === "program" ? Buffer.from(task.replyTo?.address ?? "") : noClient;
    if (this.#host.send({ type: "job", parts }, client)) return;
    this.#job = undefined;
    this.#host.post({ type: "attempt-returned", reason: "undelivered", holdMs: unsentHoldMs, ...job });
  }

  /** It is gone, or was silent for too long. A later PING or READY makes it known again. */
  leave(reason: LossReason): void {
    this.#job = undefined;
    if (!this.#isKnown) return;
    this.#isKnown = false;
    this.#host.post({ type: "worker-left", worker: this.#options.id, reason });
  }

  #finish(parts: Buffer[]): void {
    const job = this.#job;
    if (job === undefined) {
      // [pingpong 2.7] Dropped, and the worker is idle.
      this.#host.unexpected();
      if (!this.#isKnown) this.#join();
      return;
    }
    this.#job = undefined;
    const { task, attempt } = job;
    this.#host.post({
      type: "attempt-done",
      worker: this.#options.id,
      task,
      attempt,
      result: bodyOfParts(parts),
    });
  }

  #join(): void {
    if (this.#isKnown) return;
    this.#isKnown = true;
    const { id, address, queue } = this.#options;
    this.#host.post({
      type: "worker-joined",
      worker: id,
      profile: {
        dialect: "pingpong",
        address,
        queues: [queue],
        slots: 1,
        runsAtOnce: 1,
        pulls: false,
        givesBack: false,
      },
    });
  }
}
