// One worker as the broker sees it: whether it is known, and the one job it has. It takes messages
// and effects and returns events for the core and messages to send. It knows neither bytes nor
// sockets.

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
import { partsOf } from "../parts.js";
import { canBeGiven } from "./codec.js";
import type { BrokerMessage, PingpongForm, WorkerMessage } from "./messages.js";

type Assign = Extract<Effect, { type: "assign" }>;

/** Actions that the session requests. */
export interface DoorWorkerHost {
  post(event: YardEvent): void;
  /** False when it cannot be sent: the peer is gone or its queue is full. */
  send(message: BrokerMessage): boolean;
  /** The worker sent a message without effect, or one that suggests the other form. */
  fault(kind: WorkerFault): void;
  /** Closes its connection. Its job is then lost and goes to another worker. */
  disconnect(): void;
}

/** Faults of a worker whose messages can be read. */
export type WorkerFault = "unexpected_result" | "other_form" | "pings_at_work";

export interface DoorWorkerOptions {
  readonly id: WorkerId;
  readonly address: string;
  readonly queue: string;
  readonly form: PingpongForm;
  /** Differs between any two runs of the dispatcher. Part of the names of jobs in program form. */
  readonly life: string;
}

interface Job {
  readonly task: TaskId;
  readonly attempt: AttemptNumber;
}

const pong: BrokerMessage = { type: "pong" };
/** How long a worker that cannot take a job is offered nothing. */
const refusedHoldMs = 1_000;

export class PingpongDoorWorker {
  readonly #options: DoorWorkerOptions;
  readonly #host: DoorWorkerHost;
  #isKnown = false;
  #job: Job | undefined;
  /** Number of pings since it was given its job. */
  #pings = 0;

  constructor(options: DoorWorkerOptions, host: DoorWorkerHost) {
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
        else this.finish(message.result);
        return;
      case "result":
        this.finish(message.result, message.client);
        return;
      default:
        message satisfies never;
    }
  }

  /**
   * Handles a result. In program form `client` names its attempt; in document form it is for the
   * current job.
   */
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
    // The assignment was made before the core learned that the worker is gone. That loss brings the
    // task back as well.
    if (!this.#isKnown) return;
    const ref = { worker: this.#options.id, task: task.id, attempt };
    if (this.#job !== undefined) {
      // [pingpong 2.3] The core does not know the current job, which was lost with an earlier life
      // of this worker.
      this.#host.post({ type: "attempt-returned", reason: "busy", holdMs: refusedHoldMs, ...ref });
      return;
    }
    if (!canBeGiven(task.payload)) {
      this.#host.post({ type: "attempt-returned", reason: "does_not_fit", ...ref });
      return;
    }
    this.#job = { task: task.id, attempt };
    this.#pings = 0;
    if (this.#host.send(this.#jobFor(task, attempt))) return;
    this.#job = undefined;
    this.#host.post({ type: "attempt-returned", reason: "undelivered", holdMs: refusedHoldMs, ...ref });
  }

  /** The core has no room for it. It counts as unknown and asks again with its next PING. */
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
    // [pingpong 2.2] At once. [pingpong 2.4] While it has a job, a PING means nothing more.
    this.#host.send(pong);
    if (!this.#isKnown) this.#join();
    if (this.#job === undefined || this.#isProgram) return;
    this.#pings += 1;
    // [pingpong 3.5] The first may have crossed the job on the wire.
    if (this.#pings === 2) this.#host.fault("pings_at_work");
  }

  #isReady(): void {
    if (this.#job !== undefined && this.#isProgram) {
      // [pingpong 3.4] The original's timer sends READY after three seconds of work.
      this.#host.send(pong);
      return;
    }
    // [pingpong 2.1] A worker with a job that says READY has restarted.
    if (this.#job !== undefined) this.leave("restarted");
    this.#join();
  }

  /** [pingpong 3.2] */
  #isAbout(job: Job, client: Buffer | undefined): boolean {
    return !this.#isProgram || client?.toString("latin1") === this.#nameOf(job.attempt);
  }

  /** [pingpong 2.7] The result is dropped. A worker without a job is idle. */
  #refuse(client: Buffer | undefined): void {
    const isOtherForm = this.#isProgram && client === undefined;
    this.#host.fault(isOtherForm ? "other_form" : "unexpected_result");
    // [pingpong 3.6] It meant its current job, which would otherwise stay assigned for ever.
    if (isOtherForm && this.#job !== undefined) this.#host.disconnect();
    else if (!this.#isKnown) this.#join();
  }

  #jobFor(task: TaskHead, attempt: AttemptNumber): Extract<BrokerMessage, { type: "job" }> {
    const parts = partsOf(task.payload);
    if (!this.#isProgram) return { type: "job", parts };
    return { type: "job", parts, client: Buffer.from(this.#nameOf(attempt)) };
  }

  /** [pingpong 3.1] Unique to this attempt over all runs. The worker returns it with its answer. */
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
