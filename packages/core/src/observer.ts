// An observer hears of attempts and outcomes as they are decided, before they are committed, and
// changes nothing. It must not present them as facts before the commit.

import type { AttemptNumber, WorkerId } from "./names.js";
import type { Body, FinishedStateName, TaskError, TaskHead } from "./records.js";
import type { Moment, WallTime } from "./time.js";
import type { WorkerView } from "./views.js";

/** The current state of a task. Do not keep the object, because it changes. */
export interface SeenTask {
  readonly head: TaskHead;
  readonly losses: number;
  readonly failures: number;
}

/** An attempt as it is at this moment; not to be kept. */
export interface SeenAttempt {
  readonly attempt: AttemptNumber;
  readonly task: SeenTask;
  readonly workerId: WorkerId;
  readonly startedAt: WallTime;
  /** Absent for an attempt from before a restart. */
  readonly worker: { readonly door: { readonly name: string } } | undefined;
}

/** How an attempt ended that did not end its task. */
export type AttemptEnd = "failed" | "lost" | "returned";

export interface SeenOutcome {
  readonly state: FinishedStateName;
  readonly error: TaskError | undefined;
  readonly result: Body | undefined;
}

export interface Observer {
  began(attempt: SeenAttempt, now: Moment): void;
  /**
   * An attempt is over and its task waits again. `reason` is the code of a loss or return, or the
   * worker's message.
   */
  ended(attempt: SeenAttempt, how: AttemptEnd, reason: string, now: Moment): void;
  /** A task is over; `by`: the attempt that was running, if one was. */
  finished(task: SeenTask, outcome: SeenOutcome, by: SeenAttempt | undefined, now: Moment): void;
  /** A worker was lost; its attempts, which it still holds, end after this. */
  workerLost(worker: WorkerView): void;
  /** An outcome will not be delivered to its client, who is gone or did not answer. */
  undelivered(task: SeenTask, now: Moment): void;
}

/** Several observers as one. */
export class Observers implements Observer {
  #all: readonly Observer[] = [];

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  /** Adds an observer, until the returned function is called. */
  add(observer: Observer): () => void {
    this.#all = [...this.#all, observer];
    return () => {
      this.#all = this.#all.filter((other) => other !== observer);
    };
  }

  began(attempt: SeenAttempt, now: Moment): void {
    for (const observer of this.#all) observer.began(attempt, now);
  }

  ended(attempt: SeenAttempt, how: AttemptEnd, reason: string, now: Moment): void {
    for (const observer of this.#all) observer.ended(attempt, how, reason, now);
  }

  finished(task: SeenTask, outcome: SeenOutcome, by: SeenAttempt | undefined, now: Moment): void {
    for (const observer of this.#all) observer.finished(task, outcome, by, now);
  }

  workerLost(worker: WorkerView): void {
    for (const observer of this.#all) observer.workerLost(worker);
  }

  undelivered(task: SeenTask, now: Moment): void {
    for (const observer of this.#all) observer.undelivered(task, now);
  }
}
