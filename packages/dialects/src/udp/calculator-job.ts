// The one task of a calculator, from perform_task to the ack of the answer, with its deadlines.

import type { AttemptNumber, Instant, Moment, TaskId } from "@yardmaster/core";
import type { NamedTask } from "./bridge.js";
import type { AckWaiter, SentRequest } from "./exchange.js";
import type { Packet, Params, TaskNames } from "./messages.js";

/** A task that was with a calculator. */
export interface HeldTask extends NamedTask {
  readonly task: TaskId;
  readonly attempt: AttemptNumber | undefined;
}

export interface JobHost {
  /** The calculator took the task. */
  performing(job: Job, now: Moment): void;
  /** The calculator did not confirm that it took the task. */
  notPerforming(job: Job): void;
}

export class Job implements AckWaiter {
  readonly held: HeldTask;
  /** [udp 3.10] Maximum execution time; 0 if the task has its own time limit. */
  readonly limitMs: number;
  readonly #host: JobHost;
  /** Its perform_task, once sent. */
  asked: SentRequest | undefined;
  acknowledgedAt: Instant | undefined;
  /** Answers that wait for the commit and are acknowledged after it. */
  answers: Packet[] | undefined;
  /**
   * [udp 3.6] The calculator said "ready" while holding this task. The time at which that is
   * believed.
   */
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

  /** When its calculator loses it if nothing more is heard. An answer ends all deadlines. */
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

/** [udp 3.4] Matches by the uuid if given, else by the task_id. */
export function isNamed(task: NamedTask, { uuid, taskId }: TaskNames): boolean {
  return uuid === undefined ? String(task.taskId) === String(taskId) : task.uuid === uuid;
}
