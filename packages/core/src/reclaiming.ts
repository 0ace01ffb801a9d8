// How a worker gets the lease of its attempt back after our restart.

import type { AttemptRef } from "./attempt-events.js";
import { holdLease } from "./holding.js";
import { Lease } from "./lease.js";
import { attemptOf, epochOf } from "./names.js";
import type { Task } from "./task.js";
import { countWaiting, unplace } from "./task-place.js";
import { moveTask } from "./task-states.js";
import type { Worker } from "./worker.js";
import type { Yard } from "./yard.js";

/**
 * After our restart, a worker that names a task gets its lease back unless the task was given out
 * again. A task recorded as running belongs to the recorded worker. A task recorded as waiting may
 * have been given out just before we stopped: it belongs to the worker that names an attempt from
 * before the restart or, if no attempt is recorded, to the worker that names the task.
 */
export function reclaim(
  yard: Yard,
  task: Task,
  event: AttemptRef,
  worker: Worker | undefined,
): Lease | undefined {
  if (!yard.graceDeadline.isArmed || task.state !== "waiting" || worker === undefined) return undefined;
  if (task.head.id > yard.lastRestored || task.place === "blocked") return undefined;
  const last = task.lease;
  if (last !== undefined && epochOf(last.attempt) === yard.epoch) return undefined;
  const { attempt } = event;
  if (attempt !== undefined && epochOf(attempt) >= yard.epoch) return undefined;
  if (task.place === "recovering") {
    if (last === undefined || last.workerId !== event.worker) return undefined;
    if (attempt !== undefined && attempt !== last.attempt) return undefined;
  } else if (
    task.queue.isStrict ||
    !mayHaveBeenGiven(worker, task) ||
    (last !== undefined && (attempt === undefined || attempt <= last.attempt))
  ) {
    // A queue with limits records an assignment before the worker has it. Without a record there
    // was no assignment.
    return undefined;
  }
  return resume(yard, task, worker, attempt ?? last?.attempt);
}

/**
 * Without a record of the assignment, only the worker's own word says that there was one. At least
 * it must serve the queue. A pulling worker has not claimed yet after a restart; its door knows
 * which attempts are its own.
 */
function mayHaveBeenGiven({ pulls, queues }: Worker, { queue }: Task): boolean {
  return pulls || queues.includes(queue);
}

function resume(yard: Yard, task: Task, worker: Worker, attempt: Lease["attempt"] | undefined): Lease {
  unplace(yard, task, "leased");
  countWaiting(task, -1);
  task.queue.running += 1;
  const number = attempt ?? attemptOf(yard.epoch, ++yard.lastAttempt);
  const lease = new Lease(number, task, worker, worker.id, task.lease?.startedAt ?? yard.now.wall);
  if (task.lease?.attempt === number) lease.reports = task.lease.reports;
  task.lease = lease;
  moveTask(yard, task, "running", "resumed", lease);
  // How long the lease was is not recorded. Until the worker beats again, the lease lasts for the
  // grace period.
  if (worker.profile.pulls || worker.leaseMs > 0) lease.leaseUntil = yard.graceDeadline.at;
  holdLease(yard, worker, lease);
  yard.observer?.began(lease, yard.now);
  return lease;
}
