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
import type { BrokerMessage, PingpongForm, WorkerMessage } from "./messages.js";

type Assign = Extract<Effect, { type: "assign" }>;

/** What the session wants done. */
export interface WorkerSessionHost {
  post(event: YardEvent): void;
  /** False when it cannot be sent: the peer is gone, or takes nothing. */
  send(message: BrokerMessage): boolean;
  /** It said something that counts for nothing, or that hints at the other form. */
  fault(kind: WorkerFault): void;
  /** Ends its connection. What it had is lost with that, and goes to another. */
  disconnect(): void;
}

/** What is counted of a worker whose messages can be read. */
export type WorkerFault = "unexpected_result" | "other_form" | "pings_at_work";

export interface WorkerSessionOptions {
  readonly id: WorkerId;
  readonly address: string;
  readonly queue: string;
  readonly form: PingpongForm;
  /** Differs between any two runs of the dispatcher; part of the names of jobs in program form. */
  readonly life: string;
}

interface Job {
  readonly task: TaskId;
  readonly attempt: AttemptNumber;
}

const pong: BrokerMessage = { type: "pong" };
/** A worker that cannot take a job now is left in peace for a while. */
const refusedHoldMs = 1_000;

export class PingpongDoorWorker {
  readonly #options: WorkerSessionOptions;
  readonly #host: WorkerSessionHost;
  #isKnown = false;
  #job: Job | undefined;
  /** How often it has pinged since it was given the job it has. */
  #pings = 0;

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
        this.#pinged();
        return;
      case "ready":
        this.#isReady();
        return;
      case "disconnect":
        if (this.#job === undefined || this.#isProgram) this.leave("goodbye");
        else this.finish(bodyOfParts(message.parts));
        return;
      case "result":
        this.finish(bodyOfParts(message.parts), message.client);
        return;
      default:
        message satisfies never;
    }
  }

  /** A result came. In program form `client` says of which attempt; in document form it is of the job that is out. */
  finish(result: Body, client?: Buffer): void {
    const job = this.#job;
    if (job === undefined || !this.#isAbout(job, client)) {
      this.#refuse(client);
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
    const job = this.#jobFor(task, attempt);
    if (!canBeGiven(job.parts)) {
      this.#host.post({ type: "attempt-returned", reason: "does_not_fit", ...claim });
      return;
    }
    this.#job = { task: task.id, attempt };
    this.#pings = 0;
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

  get #isProgram(): boolean {
    return this.#options.form === "program";
  }

  #pinged(): void {
    // [pingpong 2.2] At once; [pingpong 2.4] while a job is out it means nothing more.
    this.#host.send(pong);
    if (!this.#isKnown) this.#join();
    if (this.#job === undefined || this.#isProgram) return;
    this.#pings += 1;
    // [pingpong 3.5] The first may have crossed the job on the wire.
    if (this.#pings === 2) this.#host.fault("pings_at_work");
  }

  #isReady(): void {
    if (this.#job !== undefined && this.#isProgram) {
      // [pingpong 3.4] The original's timer says it after three seconds of work.
      this.#host.send(pong);
      return;
    }
    // [pingpong 2.1] A worker that has a job and says it is ready has started anew.
    if (this.#job !== undefined) this.leave("restarted");
    this.#join();
  }

  /** [pingpong 3.2] */
  #isAbout(job: Job, client: Buffer | undefined): boolean {
    return !this.#isProgram || client?.toString("latin1") === this.#nameOf(job.attempt);
  }

  /** [pingpong 2.7] Dropped. A worker without a job is idle. */
  #refuse(client: Buffer | undefined): void {
    const isOtherForm = this.#isProgram && client === undefined;
    this.#host.fault(isOtherForm ? "other_form" : "unexpected_result");
    // [pingpong 3.6] It meant the job it has, which would otherwise stay out for good.
    if (isOtherForm && this.#job !== undefined) this.#host.disconnect();
    else if (!this.#isKnown) this.#join();
  }

  #jobFor(task: TaskHead, attempt: AttemptNumber): Extract<BrokerMessage, { type: "job" }> {
    const parts = partsOf(task.payload);
    if (!this.#isProgram) return { type: "job", parts };
    return { type: "job", parts, client: Buffer.from(this.#nameOf(attempt)) };
  }

  /** [pingpong 3.1] Never given to another attempt, of this run or any other: the worker brings it back with its answer. */
  #nameOf(attempt: AttemptNumber): string {
    return `${this.#options.life}.${attempt.toString(36)}`;
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
