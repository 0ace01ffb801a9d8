// The one task of a calculator, from perform_task to the answer's ack, and when its patience ends.

import type { AttemptNumber, Instant, Moment, TaskId } from "@yardmaster/core";
import type { NamedTask } from "./bridge.js";
import type { AckWaiter, Asked } from "./exchange.js";
import type { Packet, Params, TaskNames } from "./messages.js";

/** A task that was with a calculator. */
export interface HeldTask extends NamedTask {
  readonly task: TaskId;
  readonly attempt: AttemptNumber | undefined;
}

export interface JobHost {
  /** It took the task. */
  performing(job: Job, now: Moment): void;
  /** It did not say that it took the task. */
  notPerforming(job: Job): void;
}

export class Job implements AckWaiter {
  readonly held: HeldTask;
  /** [udp 3.10] How long it may work on it; 0 where the yard has a limit for this task itself. */
  readonly limitMs: number;
  readonly #host: JobHost;
  /** Its perform_task, from when it is sent. */
  asked: Asked | undefined;
  acknowledgedAt: Instant | undefined;
  /** Its answers that wait for the commit, to be acknowledged then. */
  answers: Packet[] | undefined;
  /** [udp 3.6] The calculator said "ready" with this task in hand; when that is believed. */
  doubtUntil: Instant | undefined;

  constructor(held: HeldTask, limitMs: number, host: JobHost) {
    this.held = held;
    this.limitMs = limitMs;
    this.#host = host;
  }

  acknowledged(_result: Params | undefined, now: Moment): void {
    this.#host.performing(this, now);
  }

  unanswered(): void {
    this.#host.notPerforming(this);
  }

  /** When its calculator loses it if nothing more is heard; an answer ends all patience. */
  nextDeadline(): Instant | undefined {
    if (this.answers !== undefined) return undefined;
    const { doubtUntil, limitAt } = this;
    if (doubtUntil === undefined || limitAt === undefined) return doubtUntil ?? limitAt;
    return doubtUntil < limitAt ? doubtUntil : limitAt;
  }

  get limitAt(): Instant | undefined {
    if (this.limitMs === 0 || this.acknowledgedAt === undefined) return undefined;
    return (this.acknowledgedAt + this.limitMs) as Instant;
  }
}

/** [udp 3.4] By its uuid where one is given, else by its task_id. */
export function isNamed(task: NamedTask, { uuid, taskId }: TaskNames): boolean {
  return uuid === undefined ? String(task.taskId) === String(taskId) : task.uuid === uuid;
}
