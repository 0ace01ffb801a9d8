// One worker as the controller sees it: what it holds, and what is being asked of it. It turns
// messages and effects into events and requests, and knows neither bytes nor sockets.

import type { AttemptNumber, Effect, LossReason, RequestAnswer, TaskId, WorkerId } from "@yardmaster/core";
import { bodyOf, bytesOf } from "../body.js";
import type { Breakage, DoorWorkerHost, DoorWorkerOptions } from "./door-worker-host.js";
import type { ControlWord, Numbering, WithExtra, WorkerPulse, WorkerResponse } from "./messages.js";

type Assign = Extract<Effect, { type: "assign" }>;

interface Job {
  readonly task: TaskId;
  /** Absent for a task that the worker was found with after our restart. */
  readonly attempt: AttemptNumber | undefined;
  readonly wireId: bigint;
}

/**
 * [pulse 4.2] Or until its next pulse, which the core takes for a beat. Doubled with each BUSY in a
 * row.
 */
const busyHoldMs = 1_000;
const busyHoldMsMax = 60_000;
/**
 * [pulse 4.2] After this many BUSY in a row the worker is reported: its task is not about to end.
 */
const busiesTold = 5;
const nothing = Buffer.alloc(0);

export class PulseDoorWorker {
  readonly #options: DoorWorkerOptions;
  readonly #host: DoorWorkerHost;
  #isGone = false;
  /** True if the core knows it. */
  #hasJoined = false;
  /** [pulse 2.2] It may not be a worker at all, so the core learns of it with its first pulse. */
  #isExpected = false;
  /** [pulse 3.9] Its socket may not exist yet. */
  #isBooting = true;
  /** [pulse 4.7] Found after our restart; not judged until it has said what it holds. */
  #isUncertain = false;
  #job: Job | undefined;
  /** The job with an unanswered SET_TASK. It may be done before the answer. */
  #setting: Job | undefined;
  /**
   * [pulse 3.10] SET_TASK was answered and no pulse has come since. The worker may have written its
   * next pulse before that answer.
   */
  #mayCross = false;
  /** An assignment made while the previous SET_TASK was unanswered. */
  #next: Assign | undefined;
  #isFetching = false;
  /** A FETCH_ME arrived during a FETCH. */
  #fetchAgain = false;
  /** The current FETCH was requested by a FETCH_ME that can only be about the job. */
  #isFetchOfJob = false;
  /** [pulse 4.5] FETCH_ME came, but there was nothing to fetch: the solution may be empty. */
  #isMaybeEmpty = false;
  /** The last task it finished; 0 before the first. */
  #lastId = 0n;
  /** Number of BUSY in a row. */
  #busies = 0;

  constructor(options: DoorWorkerOptions, host: DoorWorkerHost) {
    this.#options = options;
    this.#host = host;
  }

  get id(): bigint {
    return this.#options.id;
  }

  get name(): WorkerId {
    return this.#options.name;
  }

  get numbering(): Numbering {
    return this.#options.numbering;
  }

  get address(): string {
    return this.#options.address;
  }

  /** True if it is dead or was never accepted: its messages no longer count. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** [pulse 4.1] It may be working inside SET_TASK, and then answers nothing until it is done. */
  get mayBeSilent(): boolean {
    return this.#setting !== undefined && this.#setting === this.#job;
  }

  /** [pulse 3.1] It registered. */
  join(): void {
    this.#joinWith(1);
  }

  /** [pulse 2.2] Its message may have been a REGISTER. It joins when it pulses under its id. */
  expect(): void {
    this.#isExpected = true;
  }

  /** [pulse 4.7] It existed before our restart and knows better than we do what it holds. */
  adopt(): void {
    this.#isUncertain = true;
    this.#ask("GET_STATUS");
  }

  /** Its socket accepted a connection. */
  connected(): void {
    this.#isBooting = false;
  }

  receive(pulse: WorkerPulse): void {
    if (pulse.type === "SHUTDOWN") {
      // [pulse 3.4] Its task_id has no meaning.
      this.leave("goodbye");
      return;
    }
    this.#isBooting = false;
    if (this.#isUncertain) return;
    if (this.#isExpected) {
      this.#isExpected = false;
      this.join();
    }
    if (this.#isMaybeEmpty && pulse.type === "OK" && pulse.taskId === 0n) this.#finish(nothing);
    const agrees = this.#agrees(pulse.taskId);
    this.#mayCross = false;
    if (!agrees) {
      this.#host.fault("task_mismatch");
      this.#restart();
      return;
    }
    if (pulse.type === "FETCH_ME" || this.#isMaybeEmpty) this.#fetch(pulse.taskId);
    this.#host.post({ type: "worker-beat", worker: this.name });
  }

  assign(effect: Assign): void {
    // The assignment was made before the core learned that the worker is gone. That loss brings the
    // task back as well.
    if (this.#isGone) return;
    if (this.#job !== undefined || this.#next !== undefined) {
      this.#return(jobOf(effect), "busy");
    } else if (this.#setting !== undefined) this.#next = effect;
    else this.#set(effect);
  }

  /**
   * The lease was revoked. The dialect can stop a task only with RESTART, so the job stays with the
   * worker until it answers.
   */
  revoke(attempt: AttemptNumber): void {
    if (this.#next?.attempt !== attempt) return;
    const job = jobOf(this.#next);
    this.#next = undefined;
    this.#return(job, "undelivered");
  }

  /** Handles the core's answer to the claim for a task that the worker says it holds. */
  #claimed(answer: RequestAnswer): void {
    if (this.#isGone) return;
    this.#isUncertain = false;
    const hasEnded = answer.type === "refused" && answer.code === "not_found";
    // [pulse 3.10] A worker may name its last finished task until it has the next. If it still
    // works on that task, it says BUSY.
    if (hasEnded) this.#endJob();
    if (hasEnded || (answer.type === "beat" && !answer.cancel)) this.#joinWith(1);
    else this.#restart();
  }

  answered(type: ControlWord, { message, extra }: WithExtra<WorkerResponse>): void {
    if (this.#isGone || type === "RESTART") return;
    if (message.error === "FAILED" || typeof message.error === "number") {
      // [pulse 4.9] Regardless of the request.
      this.#host.fault("worker_failed");
      this.leave("reported", wordsOf(extra));
    } else if (type === "SET_TASK") this.#taskSet(message, extra);
    else if (type === "FETCH") this.#fetched(message, extra);
    else this.#statusTold(message);
  }

  /** [pulse 4.9] The exchange ended without an answer. */
  broken(type: ControlWord, how: Breakage): void {
    if (this.#isGone || type === "RESTART") return;
    if (how === "unreachable" && type === "SET_TASK" && this.#job !== undefined) {
      // The request was never sent, so the task was never tried.
      const job = this.#job;
      this.#job = undefined;
      this.#return(job, "undelivered");
    }
    this.leave(lossOf[how]);
  }

  /**
   * It is dead: by its own word, by silence, or because it cannot be reached. Its next pulse is
   * answered with UNKNOWN_ID.
   */
  leave(reason: LossReason, message = ""): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#job = undefined;
    this.#next = undefined;
    if (this.#hasJoined) {
      const words = message === "" ? {} : { message };
      this.#host.post({ type: "worker-left", worker: this.name, reason, ...words });
    }
    this.#host.gone();
  }

  /** The core has no room for it. */
  dismiss(): void {
    this.#isGone = true;
    this.#host.gone();
  }

  /** [pulse 3.10] True if a task_id agrees with what we know, or may do so. */
  #agrees(named: bigint): boolean {
    if (named === (this.#job?.wireId ?? 0n)) return true;
    if (this.#job === undefined) return named === this.#lastId;
    const isNew = this.#setting !== undefined || this.#mayCross;
    return named === 0n ? isNew || this.#isFetching : isNew && named === this.#lastId;
  }

  #restart(): void {
    this.#ask("RESTART");
    this.leave("restarted");
  }

  #set(effect: Assign): void {
    const job = jobOf(effect);
    // Before any byte is written, because the worker may name the task before it answers.
    this.#job = job;
    this.#setting = job;
    this.#isMaybeEmpty = false;
    this.#ask("SET_TASK", { taskId: job.wireId, extra: bytesOf(effect.task.payload) });
  }

  #taskSet({ error }: WorkerResponse, extra: Buffer): void {
    const job = this.#setting;
    this.#setting = undefined;
    this.#mayCross = true;
    if (error === "NO_FETCH") {
      this.leave("reported", wordsOf(extra));
      return;
    }
    if (error !== "BUSY") this.#busies = 0;
    if (job !== undefined && job === this.#job) {
      if (error === "BUSY") this.#isBusyWith(job);
      else if (error === "TASK_FAILED") this.#fail(extra);
    }
    const next = this.#next;
    this.#next = undefined;
    if (next !== undefined) this.#set(next);
  }

  #fetch(named: bigint): void {
    if (this.#isFetching) {
      this.#fetchAgain = true;
      return;
    }
    this.#isFetching = true;
    this.#isFetchOfJob = named === this.#job?.wireId || this.#setting === undefined;
    this.#ask("FETCH");
  }

  #fetched({ error, taskId }: WorkerResponse, extra: Buffer): void {
    this.#isFetching = false;
    const again = this.#fetchAgain;
    this.#fetchAgain = false;
    if (error === "BUSY") {
      this.leave("reported", wordsOf(extra));
    } else if (error === "NO_FETCH") {
      // [pulse 4.5] A worker with an empty solution has nothing to fetch either.
      this.#isMaybeEmpty = this.#job !== undefined && this.#isFetchOfJob;
      if (again) this.#fetch(this.#job?.wireId ?? 0n);
    } else if (this.#isAboutJob(taskId)) {
      if (error === "OK") this.#finish(extra);
      else this.#fail(extra);
    } else this.#tellStale(taskId, extra);
  }

  /** [pulse 4.6] */
  #isAboutJob(taskId: bigint): boolean {
    const { wireId } = this.#job ?? {};
    return wireId !== undefined && (taskId === wireId || taskId === 0n || !this.#host.wasGivenOut(taskId));
  }

  /** The core refuses it and records that in the story of the named task. */
  #tellStale(taskId: bigint, extra: Buffer): void {
    this.#host.fault("stale_answer");
    if (taskId === 0n || !this.#host.wasGivenOut(taskId)) return;
    const task = Number(taskId) as TaskId;
    const result = bodyOf(extra);
    this.#host.post({ type: "attempt-done", worker: this.name, task, attempt: undefined, result });
  }

  #finish(solution: Buffer): void {
    const job = this.#endJob();
    if (job === undefined) return;
    const { task, attempt } = job;
    this.#host.post({ type: "attempt-done", worker: this.name, task, attempt, result: bodyOf(solution) });
  }

  /** [pulse 4.3] Another worker is to try it. */
  #fail(extra: Buffer): void {
    const job = this.#endJob();
    if (job === undefined) return;
    const { task, attempt } = job;
    const error = { code: "task_failed", message: wordsOf(extra) };
    this.#host.post({ type: "attempt-failed", worker: this.name, task, attempt, error, asLoss: true });
  }

  #endJob(): Job | undefined {
    const job = this.#job;
    this.#job = undefined;
    this.#isMaybeEmpty = false;
    if (job !== undefined) this.#lastId = job.wireId;
    return job;
  }

  /** [pulse 4.2] */
  #isBusyWith(job: Job): void {
    this.#job = undefined;
    this.#busies += 1;
    if (this.#busies === busiesTold) this.#host.fault("always_busy");
    this.#return(job, "busy", Math.min(busyHoldMs * 2 ** (this.#busies - 1), busyHoldMsMax));
  }

  #return({ task, attempt }: Job, reason: "busy" | "undelivered", holdMs = busyHoldMs): void {
    const ref = { worker: this.name, task, attempt };
    this.#host.post({ type: "attempt-returned", reason, holdMs, ...ref });
  }

  #statusTold({ error, taskId }: WorkerResponse): void {
    if (error !== "OK" || taskId > BigInt(Number.MAX_SAFE_INTEGER)) {
      this.leave("reported");
      return;
    }
    if (taskId === 0n) {
      this.#isUncertain = false;
      this.join();
      return;
    }
    // With no slot it is given nothing else until the core has said whether the task is still its
    // own.
    this.#joinWith(0);
    const task = Number(taskId) as TaskId;
    this.#job = { task, attempt: undefined, wireId: taskId };
    const request = this.#host.ask((answer) => this.#claimed(answer));
    this.#host.post({ type: "attempt-beat", request, worker: this.name, task, attempt: undefined });
  }

  #joinWith(slots: number): void {
    this.#hasJoined = true;
    const { name, address, queue } = this.#options;
    this.#host.post({
      type: "worker-joined",
      worker: name,
      profile: {
        dialect: "pulse",
        address,
        queues: [queue],
        slots,
        runsAtOnce: 1,
        pulls: false,
        givesBack: false,
      },
    });
  }

  #ask(type: ControlWord, { taskId, extra = nothing }: { taskId?: bigint; extra?: Buffer } = {}): void {
    const isBooting = this.#isBooting;
    this.#host.control(
      taskId === undefined ? { type, extra, isBooting } : { type, taskId, extra, isBooting },
    );
  }
}

const lossOf: Readonly<Record<Breakage, LossReason>> = {
  unreachable: "send_failed",
  broken: "connection_closed",
  silent: "silence",
};

function jobOf({ task, attempt }: Assign): Job {
  return { task: task.id, attempt, wireId: BigInt(task.id) };
}

/** Longer than any message for people. The core cuts it again. */
const wordsBytesMax = 4096;

/** [pulse 4.9] The text in the extra data of an error answer. */
function wordsOf(extra: Buffer): string {
  return extra.toString("utf8", 0, Math.min(extra.length, wordsBytesMax));
}
