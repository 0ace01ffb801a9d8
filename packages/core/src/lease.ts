// An attempt's hold on a task. It sits in its worker's list, oldest first, until the worker answers or is lost. A lease
// that was lifted (cancelled, out of time) no longer holds the task but still takes the slot: what the worker answers
// next is about it, and must not count for another task.

import type { Deadline } from "./deadlines.js";
import type { AttemptNumber, WorkerId } from "./names.js";
import type { Task } from "./task.js";
import type { Instant, WallTime } from "./time.js";
import type { Timed } from "./timed.js";
import type { Worker } from "./worker.js";

export class Lease {
  readonly attempt: AttemptNumber;
  readonly task: Task;
  /** Absent for an attempt from before our restart: of that only the name is known. */
  readonly worker: Worker | undefined;
  readonly workerId: WorkerId;
  readonly startedAt: WallTime;
  isLifted = false;
  /** The worker may be at work on it; before that it lies in the worker's own queue. */
  hasBegun = false;
  /** It was named for taking back; that is asked once. */
  isRecalled = false;
  /** The lease is over then unless beaten; undefined where it lasts as long as the worker. */
  leaseUntil: Instant | undefined = undefined;
  /** When the task's wait for a worker would have been over; a return goes on with that wait. */
  waitUntil: Instant | undefined = undefined;
  /** The attempt's time limit. */
  limitAt: Instant | undefined = undefined;
  deadline: Deadline<Timed> | undefined = undefined;
  // Its neighbours in the worker's list.
  older: Lease | undefined = undefined;
  newer: Lease | undefined = undefined;

  constructor(
    attempt: AttemptNumber,
    task: Task,
    worker: Worker | undefined,
    workerId: WorkerId,
    startedAt: WallTime,
  ) {
    this.attempt = attempt;
    this.task = task;
    this.worker = worker;
    this.workerId = workerId;
    this.startedAt = startedAt;
  }
}
