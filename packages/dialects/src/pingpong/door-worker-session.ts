// One worker as the broker sees it: whether it is known, and the one job it has. It reads messages and effects, and says
// what to tell the core and what to send; it knows neither bytes nor sockets.

import type {
  AttemptNumber,
  Body,
  Effect,
  LossReason,
  TaskHead,
  TaskId,
  WorkerId,
  YardEvent,
} from "@yardmaster/core";
import { bodyOfParts, partsOf } from "../parts.js";
import { canBeGiven } from "./codec.js";
import { clientNameOf } from "./door-client.js";
import type { BrokerMessage, PingpongForm, WorkerMessage } from "./messages.js";

type Assign = Extract<Effect, { type: "assign" }>;

/** What the session wants done. */
export interface WorkerSessionHost {
  post(event: YardEvent): void;
  /** False when it cannot be sent: the peer is gone, or takes nothing. */
  send(message: BrokerMessage): boolean;
  /** A result came that nobody waits for. */
  unexpected(): void;
}

export interface WorkerSessionOptions {
  readonly id: WorkerId;
  readonly address: string;
  readonly queue: string;
  readonly form: PingpongForm;
}

const pong: BrokerMessage = { type: "pong" };
/** A worker that cannot take a job now is left in peace for a while. */
const refusedHoldMs = 1_000;

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

  get address(): string {
    return this.#options.address;
  }

  /** [pingpong 5.2] Only an idle worker expires by silence: a busy one does not ping. */
  get mayExpire(): boolean {
    return this.#isKnown && this.#job === undefined;
  }

  receive(message: WorkerMessage): void {
    switch (message.type) {
      case "ping":
        // [pingpong 2.2] At once; [pingpong 2.4] while a job is out it means nothing more.
        this.#host.send(pong);
        if (!this.#isKnown) this.#join();
        return;
      case "ready":
        // [pingpong 2.1] A worker that has a job and says it is ready has started anew.
        if (this.#job !== undefined) this.leave("restarted");
        this.#join();
        return;
      case "disconnect":
        if (this.#job === undefined) this.leave("goodbye");
        else this.finish(bodyOfParts(message.parts));
        return;
      case "result":
        this.finish(bodyOfParts(message.parts));
        return;
      default:
        message satisfies never;
    }
  }

  /** A result came, of whatever job is out. */
  finish(result: Body): void {
    const job = this.#job;
    if (job === undefined) {
      // [pingpong 2.7] Dropped, and the worker is idle.
      this.#host.unexpected();
      if (!this.#isKnown) this.#join();
      return;
    }
    this.#job = undefined;
    const { task, attempt } = job;
    this.#host.post({ type: "attempt-done", worker: this.#options.id, task, attempt, result });
  }

  assign({ task, attempt }: Assign): void {
    // It was given out before the core heard that the worker is gone: that loss brings the task back, too.
    if (!this.#isKnown) return;
    const claim = { worker: this.#options.id, task: task.id, attempt };
    if (this.#job !== undefined) {
      // [pingpong 2.3] The core does not know of the job that is out: it was lost with an earlier life of this worker.
      this.#host.post({ type: "attempt-returned", reason: "busy", holdMs: refusedHoldMs, ...claim });
      return;
    }
    const job = this.#jobFor(task);
    if (!canBeGiven(job.parts)) {
      this.#host.post({ type: "attempt-returned", reason: "does_not_fit", ...claim });
      return;
    }
    this.#job = { task: task.id, attempt };
    if (this.#host.send(job)) return;
    this.#job = undefined;
    this.#host.post({ type: "attempt-returned", reason: "undelivered", holdMs: refusedHoldMs, ...claim });
  }

  /** The core has no room for it. It is as good as unknown, and asks again with its next PING. */
  dismiss(): void {
    this.#isKnown = false;
  }

  /** It is gone, or was silent for too long. A later PING or READY makes it known again. */
  leave(reason: LossReason): void {
    this.#job = undefined;
    if (!this.#isKnown) return;
    this.#isKnown = false;
    this.#host.post({ type: "worker-left", worker: this.#options.id, reason });
  }

  #jobFor(task: TaskHead): Extract<BrokerMessage, { type: "job" }> {
    const parts = partsOf(task.payload);
    if (this.#options.form === "document") return { type: "job", parts };
    // [pingpong 3.1] The client's identity is no business of the worker's; it only has to come back.
    return { type: "job", parts, client: Buffer.from(clientNameOf(task.replyTo)) };
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
