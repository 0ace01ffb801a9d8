// An attempt's hold on a task. It stays in its worker's list, oldest first, until the worker
// answers or is lost. A revoked lease (cancelled, out of time) no longer holds the task but still
// takes the slot: the worker's next answer is about that lease and must not count for another task.

import type { Deadline } from "./deadlines.js";
import type { AttemptNumber, WorkerId } from "./names.js";
import type { Reports } from "./reports.js";
import type { Task } from "./task.js";
import type { Instant, WallTime } from "./time.js";
import type { Timed } from "./timed.js";
import type { Worker } from "./worker.js";

export class Lease {
  readonly attempt: AttemptNumber;
  readonly task: Task;
  /** Undefined for an attempt from before our restart, of which only the worker's name is known. */
  readonly worker: Worker | undefined;
  readonly workerId: WorkerId;
  readonly startedAt: WallTime;
  isRevoked = false;
  /** True once its answer has arrived and is being stored. Neither lease nor time limit ends it. */
  hasAnswered = false;
  /** True once the worker may be running it. Before that it waits in the worker's own queue. */
  hasBegun = false;
  /** True once it was recalled, which happens at most once. */
  isRecalled = false;
  /**
   * When the lease expires unless the worker beats; undefined if it lasts as long as the worker.
   */
  leaseUntil: Instant | undefined = undefined;
  /** When the task's wait for a worker would have ended. A returned task continues that wait. */
  waitUntil: Instant | undefined = undefined;
  /** When the attempt reaches its time limit. */
  limitAt: Instant | undefined = undefined;
  deadline: Deadline<Timed> | undefined = undefined;
  /** Undefined until the worker reports progress; most never do. */
  reports: Reports | undefined = undefined;
  // Neighbours in the worker's list.
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
