// One worker as the controller sees it: what it holds, what is being asked of it, and whether what it says agrees. It reads
// messages and effects, and says what to tell the core and what to ask; it knows neither bytes nor sockets.

import type { Answer, AttemptNumber, Effect, LossReason, TaskId, WorkerId } from "@yardmaster/core";
import { bodyOf, bytesOf } from "../body.js";
import type { Breakage, DoorWorkerHost, DoorWorkerOptions } from "./door-surroundings.js";
import type { ControlWord, Numbering, WithExtra, WorkerPulse, WorkerResponse } from "./messages.js";

type Assign = Extract<Effect, { type: "assign" }>;

interface Job {
  readonly task: TaskId;
  /** Absent for one that was found with the worker when we came back. */
  readonly attempt: AttemptNumber | undefined;
  readonly wireId: bigint;
}

/** [pulse 4.2] Or until its next pulse, which is what the core takes a beat for; doubled with each BUSY in a row. */
const busyHoldMs = 1_000;
const busyHoldMsMax = 60_000;
/** [pulse 4.2] After this many BUSY in a row the worker is reported: it is not busy with a task that is about to end. */
const busiesTold = 5;
const nothing = Buffer.alloc(0);

export class PulseDoorWorker {
  readonly #options: DoorWorkerOptions;
  readonly #host: DoorWorkerHost;
  #isGone = false;
  /** The core knows of it. */
  #hasJoined = false;
  /** [pulse 2.2] It may not be a worker at all: the core hears of it with its first pulse. */
  #isExpected = false;
  /** [pulse 3.9] Its socket may not be there yet. */
  #isBooting = true;
  /** [pulse 4.7] Found when we came back: until it has said what it holds, nothing it says is judged. */
  #isUncertain = false;
  #job: Job | undefined;
  /** The job whose SET_TASK is not answered; it may be done before that. */
  #setting: Job | undefined;
  /** [pulse 3.10] SET_TASK was answered, and no pulse came since: the next one may have been written before. */
  #mayCross = false;
  /** Given out while the answer to the SET_TASK before it was still to come. */
  #next: Assign | undefined;
  #isFetching = false;
  /** FETCH_ME came while a FETCH was under way. */
  #fetchAgain = false;
  /** The FETCH under way was asked for by a FETCH_ME that can only be about the job. */
  #isFetchOfJob = false;
  /** [pulse 4.5] FETCH_ME, and then nothing to fetch: maybe the solution is empty. */
  #isMaybeEmpty = false;
  /** The last task it finished; 0 before the first. */
  #lastId = 0n;
  /** How often in a row it said BUSY. */
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

  /** It is dead, or was never taken in: nothing it says counts any more. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** [pulse 4.1] It may be at work inside SET_TASK, and answer nothing before that is done. */
  get mayBeSilent(): boolean {
    return this.#setting !== undefined && this.#setting === this.#job;
  }

  /** [pulse 3.1] It registered. */
  join(): void {
    this.#joinWith(1);
  }

  /** [pulse 2.2] What it said may have been a REGISTER: it joins when it pulses under its id. */
  expect(): void {
    this.#isExpected = true;
  }

  /** [pulse 4.7] It was there before us, and knows better than we do what it holds. */
  adopt(): void {
    this.#isUncertain = true;
    this.#ask("GET_STATUS");
  }

  /** Its socket took a connection. */
  connected(): void {
    this.#isBooting = false;
  }

  receive(pulse: WorkerPulse): void {
    if (pulse.type === "SHUTDOWN") {
      // [pulse 3.4] Its task_id means nothing.
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
    // It was given out before the core heard that the worker is gone: that loss brings the task back, too.
    if (this.#isGone) return;
    if (this.#job !== undefined || this.#next !== undefined) {
      this.#return(jobOf(effect), "busy");
    } else if (this.#setting !== undefined) this.#next = effect;
    else this.#set(effect);
  }

  /** The lease was lifted. The dialect has no word to stop a task but RESTART, so what is out stays out until it answers. */
  revoke(attempt: AttemptNumber): void {
    if (this.#next?.attempt !== attempt) return;
    const job = jobOf(this.#next);
    this.#next = undefined;
    this.#return(job, "undelivered");
  }

  /** The core's answer to the claim of a task that the worker says it holds. */
  #claimed(answer: Answer): void {
    if (this.#isGone) return;
    this.#isUncertain = false;
    const hasEnded = answer.type === "refused" && answer.code === "not_found";
    // [pulse 3.10] A worker may name the last task it finished until it has the next. If it works on that still, it says BUSY.
    if (hasEnded) this.#endJob();
    if (hasEnded || (answer.type === "beat" && !answer.cancel)) this.#joinWith(1);
    else this.#restart();
  }

  answered(type: ControlWord, { message, extra }: WithExtra<WorkerResponse>): void {
    if (this.#isGone || type === "RESTART") return;
    if (message.error === "FAILED" || typeof message.error === "number") {
      // [pulse 4.9] Whatever it was asked.
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
      // Never said, so never tried.
      const job = this.#job;
      this.#job = undefined;
      this.#return(job, "undelivered");
    }
    this.leave(lossOf[how]);
  }

  /** It is dead: by its own word, by silence, or because it cannot be reached. Its next pulse is answered UNKNOWN_ID. */
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

  /** [pulse 3.10] Whether a task_id is what we know, or can be for all we know. */
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
    // Before a byte of it is written: the worker may name it before it has answered.
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
      // [pulse 4.5] A worker that has an empty solution has nothing to fetch, either.
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

  /** The core refuses it, and keeps that in the story of the task it names. */
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

  /** [pulse 4.3] For another worker to try. */
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
    const claim = { worker: this.name, task, attempt };
    this.#host.post({ type: "attempt-returned", reason, holdMs, ...claim });
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
    // Without a slot it is given nothing else before the core has said whether the task is still its own.
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

/** Longer than any message for people; the core cuts it once more. */
const wordsBytesMax = 4096;

/** [pulse 4.9] What an error answer says in its extra data. */
function wordsOf(extra: Buffer): string {
  return extra.toString("utf8", 0, Math.min(extra.length, wordsBytesMax));
}
