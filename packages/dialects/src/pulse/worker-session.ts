// A worker's end of the dialect: registers, pulses, takes one task at a time, says when its
// solution can be fetched, and registers again when the controller no longer knows it. Time is an
// argument, and actions are returned.

import type { Instant, Moment } from "@yardmaster/core";
import type { ControlMessage, PulseResponse, WithExtra, WorkerPulse, WorkerResponse } from "./messages.js";

export interface PulseWorkerSettings {
  /** The announced interval. After a longer silence the worker counts as dead. */
  readonly nextPulseSeconds: number;
  readonly pulseMs: number;
  /** Delay after an unanswered pulse before the next. */
  readonly retryMs: number;
  /** [pulse 4.8] Reaction to RESTART: register as a new worker, or end. */
  readonly onRestart: "register" | "end";
}

/** Like real workers: two pulses within the announced interval. */
export const defaultPulseWorkerSettings: PulseWorkerSettings = {
  nextPulseSeconds: 60,
  pulseMs: 30_000,
  retryMs: 1_000,
  onRestart: "register",
};

export interface PulseWorkerHost {
  /**
   * Starts an exchange on main.sock, which ends with `answered` or `unanswered`. There is one at a
   * time.
   */
  pulse(pulse: WorkerPulse): void;
  /**
   * Registered under this id: listen on its socket, then call `listening`. The socket of an earlier
   * id is removed.
   */
  listen(id: bigint): void;
  /** Starts a task. `finish` or `fail` answers it. */
  work(task: bigint, payload: Buffer): void;
  /** The answer to the current task is no longer wanted. */
  abandon(): void;
  /** SHUTDOWN was answered or could not be sent, or RESTART ended the worker. */
  ended(): void;
}

type CurrentTask =
  | { readonly id: bigint; readonly state: "working" }
  | { readonly id: bigint; readonly state: "solved" | "failed"; readonly extra: Buffer };

const nothing = Buffer.alloc(0);

export class PulseWorkerSession {
  readonly #settings: PulseWorkerSettings;
  readonly #host: PulseWorkerHost;
  /** 0 while it is not registered. */
  #id = 0n;
  #isListening = false;
  #task: CurrentTask | undefined;
  /**
   * The current task was given under an earlier id. It still runs, but its answer is not wanted.
   */
  #isOrphaned = false;
  #isPulsing = false;
  #sent: WorkerPulse["type"] = "OK";
  /** A message is waiting to be sent before the next pulse is due. */
  #isUrgent = false;
  #pulseAt = 0 as Instant;
  #stop: "no" | "asked" | "said" | "done" = "no";

  constructor(settings: PulseWorkerSettings, host: PulseWorkerHost) {
    this.#settings = settings;
    this.#host = host;
  }

  get id(): bigint {
    return this.#id;
  }

  /** True if it has neither a task nor a solution to be fetched. */
  get isIdle(): boolean {
    return this.#task === undefined;
  }

  start(now: Moment): void {
    this.#say(now);
  }

  /** The socket of its id accepts connections. */
  listening(now: Moment): void {
    this.#isListening = true;
    this.#hurry(now);
  }

  /** Ends the session with SHUTDOWN. */
  stop(now: Moment): void {
    if (this.#stop !== "no") return;
    this.#stop = "asked";
    this.#hurry(now);
  }

  answered({ error, workerId }: PulseResponse, now: Moment): void {
    this.#isPulsing = false;
    if (this.#sent === "SHUTDOWN") {
      this.#end();
      return;
    }
    if ((error === "UNKNOWN_ID" || error === "UNKNOWN_TYPE") && this.#sent !== "REGISTER") {
      // [pulse 3.5] The controller thinks it is dead, so it registers again. [pulse 2.2] A
      // controller that started after us may not know our numbering; its UNKNOWN_ID then looks like
      // this.
      this.#forget();
      this.#pulseAt = now.instant;
    } else if (error !== "OK" || (this.#sent === "REGISTER" && (workerId ?? 0n) === 0n)) {
      this.#pulseAt = later(now, this.#settings.retryMs);
    } else if (this.#sent === "REGISTER") {
      this.#id = workerId ?? 0n;
      this.#pulseAt = later(now, this.#settings.pulseMs);
      this.#host.listen(this.#id);
    } else this.#pulseAt = later(now, this.#settings.pulseMs);
    this.#sayIfDue(now);
  }

  unanswered(now: Moment): void {
    this.#isPulsing = false;
    if (this.#sent === "SHUTDOWN") {
      this.#end();
      return;
    }
    this.#isUrgent = false;
    this.#pulseAt = later(now, this.#settings.retryMs);
  }

  /** Answers a control message. */
  control({ message, extra }: WithExtra<ControlMessage>, now: Moment): WithExtra<WorkerResponse> {
    switch (message.type) {
      case "SET_TASK":
        return this.#setTask(message.taskId ?? 0n, extra);
      case "FETCH":
        return this.#fetch();
      case "GET_STATUS":
        return this.#answer("OK");
      case "RESTART":
        // [pulse 4.8] Its session is over; it continues as a new worker.
        this.#forget();
        if (this.#settings.onRestart === "end") this.#end();
        else this.#hurry(now);
        return { message: { error: "OK", taskId: 0n, extraSize: 0n }, extra: nothing };
      default:
        return this.#answer("FAILED", Buffer.from("unknown control type"));
    }
  }

  finish(solution: Buffer, now: Moment): void {
    this.#ended("solved", solution, now);
  }

  fail(message: string, now: Moment): void {
    this.#ended("failed", Buffer.from(message), now);
  }

  nextDeadline(): Instant | undefined {
    return this.#isPulsing || this.#stop === "done" ? undefined : this.#pulseAt;
  }

  handleTimeout(now: Moment): void {
    this.#sayIfDue(now);
  }

  #setTask(id: bigint, payload: Buffer): WithExtra<WorkerResponse> {
    if (this.#task !== undefined || this.#stop !== "no") return this.#answer("BUSY");
    this.#task = { id, state: "working" };
    this.#isOrphaned = false;
    this.#host.work(id, payload);
    return this.#answer("OK");
  }

  /** [pulse 4.4] A fetched solution is no longer held. */
  #fetch(): WithExtra<WorkerResponse> {
    const task = this.#task;
    if (task === undefined || task.state === "working") return this.#answer("NO_FETCH");
    const answer = this.#answer(task.state === "solved" ? "OK" : "TASK_FAILED", task.extra);
    this.#task = undefined;
    return answer;
  }

  #answer(error: WorkerResponse["error"], extra: Buffer = nothing): WithExtra<WorkerResponse> {
    return { message: { error, taskId: this.#taskId, extraSize: BigInt(extra.length) }, extra };
  }

  get #taskId(): bigint {
    return this.#isOrphaned ? 0n : (this.#task?.id ?? 0n);
  }

  #ended(state: "solved" | "failed", extra: Buffer, now: Moment): void {
    const task = this.#task;
    if (task?.state !== "working") return;
    if (this.#isOrphaned) {
      this.#task = undefined;
      this.#isOrphaned = false;
      return;
    }
    this.#task = { id: task.id, state, extra };
    this.#hurry(now);
  }

  /** By now the controller has given its task to another worker. */
  #forget(): void {
    this.#id = 0n;
    this.#isListening = false;
    if (this.#task?.state === "working") {
      if (!this.#isOrphaned) this.#host.abandon();
      this.#isOrphaned = true;
    } else this.#task = undefined;
  }

  #hurry(now: Moment): void {
    this.#isUrgent = true;
    this.#sayIfDue(now);
  }

  #sayIfDue(now: Moment): void {
    if (this.#isPulsing || this.#stop === "done") return;
    if (this.#isUrgent || now.instant >= this.#pulseAt) this.#say(now);
  }

  #say(now: Moment): void {
    if (this.#stop !== "no" && this.#id === 0n) {
      this.#end();
      return;
    }
    // [pulse 3.9] It does not pulse before its socket exists.
    if (this.#id !== 0n && !this.#isListening && this.#stop === "no") {
      this.#pulseAt = later(now, this.#settings.retryMs);
      return;
    }
    this.#isUrgent = false;
    this.#isPulsing = true;
    this.#sent = this.#nextType();
    this.#host.pulse({
      type: this.#sent,
      workerId: this.#id,
      taskId: this.#sent === "SHUTDOWN" || this.#sent === "REGISTER" ? 0n : this.#taskId,
      nextPulse: this.#sent === "SHUTDOWN" ? 0n : BigInt(this.#settings.nextPulseSeconds),
    });
  }

  #nextType(): WorkerPulse["type"] {
    if (this.#stop !== "no") return "SHUTDOWN";
    if (this.#id === 0n) return "REGISTER";
    return this.#task !== undefined && this.#task.state !== "working" ? "FETCH_ME" : "OK";
  }

  #end(): void {
    this.#stop = "done";
    this.#host.ended();
  }
}

function later(now: Moment, ms: number): Instant {
  return (now.instant + ms) as Instant;
}
