// What becomes of an attempt and its task when the worker reports, or when the attempt's time is
// over: done, failed, lost, returned, or still running.

import type { AttemptEvent, LossReason, ReturnReason } from "./attempt-events.js";
import type { DoorState } from "./door-state.js";
import type { YardEvent } from "./events.js";
import { currentLease, refuse, revokedLease } from "./fence.js";
import { finish } from "./finishing.js";
import { armLease } from "./holding.js";
import type { Lease } from "./lease.js";
import { reposition } from "./offers.js";
import { avoid, makeReady, makeSleep } from "./placing.js";
import { reclaim } from "./reclaiming.js";
import { type Body, errorDetailMax, type TaskError } from "./records.js";
import { freeSlot, release, revoke, serveFreed } from "./releasing.js";
import { takeReport } from "./reports.js";
import { retryDelayMs } from "./retry-policy.js";
import type { Task } from "./task.js";
import { countWaiting } from "./task-place.js";
import { moveTask } from "./task-states.js";
import { after, type Instant } from "./time.js";
import type { Yard } from "./yard.js";

export function handleAttempt(yard: Yard, door: DoorState, event: AttemptEvent): void {
  const worker = yard.workers.get(event.worker);
  if (worker !== undefined) worker.lastSeenAt = yard.now.wall;
  const task = yard.tasks.get(event.task);
  const revoked = revokedLease(yard, worker, event);
  const isRefused = task === undefined || revoked !== undefined;
  const lease = isRefused ? undefined : (currentLease(task, event) ?? reclaim(yard, task, event, worker));
  if (lease === undefined) {
    refuse(yard, door, task, event, revoked);
    return;
  }
  switch (event.type) {
    case "attempt-done":
      succeed(yard, lease, event.result);
      break;
    case "attempt-failed":
      if (event.asLoss === true) report(yard, lease, event.error);
      else fail(yard, lease, boundedError(yard, event.error), event.result);
      break;
    case "attempt-lost":
      lose(yard, lease, event.reason);
      break;
    case "attempt-returned":
      giveBack(yard, lease, event.reason, event.holdMs ?? 0);
      break;
    case "attempt-beat":
      beat(yard, door, lease, event);
      return;
    default:
      event satisfies never;
  }
  if (event.request !== undefined) yard.reply(door, event.request, { type: "granted", task: event.task });
}

function succeed(yard: Yard, lease: Lease, result: Body): void {
  if (lease.worker !== undefined) {
    lease.worker.done += 1;
    lease.worker.doneOfLate.add(yard.now.instant);
  }
  release(yard, lease);
  finish(yard, lease.task, "done", "done", { result, by: lease });
  serveFreed(yard, lease);
}

function fail(yard: Yard, lease: Lease, error: TaskError, result: Body | undefined): void {
  const { task } = lease;
  task.failures += 1;
  if (lease.worker !== undefined) lease.worker.failed += 1;
  release(yard, lease);
  if (task.failures >= task.head.policy.failures)
    finish(yard, task, "failed", "failed", { error, by: lease, ...(result && { result }) });
  else {
    yard.observer?.ended(lease, "failed", error.code, yard.now);
    retry(yard, lease, `failed: ${error.message}`, delayMs(yard, task, task.failures));
  }
  serveFreed(yard, lease);
}

/** Counts the failure as a loss. The task avoids this worker while another one serves the queue. */
function report(yard: Yard, lease: Lease, { message }: TaskError): void {
  if (lease.worker !== undefined) avoid(lease.task, lease.worker);
  lose(yard, lease, "reported", yard.bounded(message));
}

function boundedError(yard: Yard, { code, message, detail }: TaskError): TaskError {
  const error = { code: yard.bounded(code), message: yard.bounded(message) };
  return detail === undefined ? error : { ...error, detail: detail.slice(0, errorDetailMax) };
}

/** Ends an attempt that its worker reported lost, or whose worker was lost. Its slot is free. */
export function lose(yard: Yard, lease: Lease, reason: LossReason, message = ""): void {
  release(yard, lease);
  countLoss(yard, lease, reason, message);
  serveFreed(yard, lease);
}

/** Puts the task of a lost attempt back at the head of its queue, or ends it as poison. */
function countLoss(yard: Yard, lease: Lease, reason: LossReason, message: string): void {
  const { task } = lease;
  task.losses += 1;
  task.queue.tally.lost += 1;
  yard.counters.lostAttempts.add(lease.worker?.door.name ?? "", reason);
  const cause = message === "" ? `lost: ${reason}` : `lost: ${reason}: ${message}`;
  const { attempts } = task.head.policy;
  if (task.losses < attempts) {
    yard.observer?.ended(lease, "lost", reason, yard.now);
    retry(yard, lease, cause, delayMs(yard, task, task.losses));
    return;
  }
  const times = attempts === 1 ? "once" : `${attempts} times`;
  finish(yard, task, "failed", cause, {
    error: { code: "poison", message: `Lost ${times} with its worker, the last time by ${reason}.` },
    by: lease,
  });
}

/**
 * Takes back a task that was not tried. The return costs no attempt, and the task goes to the head
 * of its queue. Its time of waiting goes on as if it had never left, unless the dispatcher is
 * stopping and the attempt had begun.
 */
export function giveBack(yard: Yard, lease: Lease, reason: ReturnReason, holdMs: number): void {
  const { task, worker } = lease;
  release(yard, lease);
  yard.counters.returnedAttempts.add(worker?.door.name ?? "", reason);
  if (worker !== undefined && reason === "does_not_fit") {
    task.unfit = [...new Set([...(task.unfit ?? []), worker.door.name])].sort();
  }
  // A failed task waits for another worker to try it. A worker that says it is busy does not count
  // as that other worker, or the task could wait forever.
  if (worker !== undefined && reason === "busy" && task.avoids !== undefined) avoid(task, worker);
  if (worker !== undefined && holdMs > 0) {
    worker.hold = yard.armed(worker.hold, { type: "hold", worker }, after(yard.now.instant, holdMs));
    reposition(yard, worker);
  }
  yard.observer?.ended(lease, "returned", reason, yard.now);
  retry(yard, lease, `returned: ${reason}`, 0, reason === "drain" ? undefined : lease.waitUntil);
  serveFreed(yard, lease);
}

function delayMs(yard: Yard, { queue }: Task, count: number): number {
  return retryDelayMs(count, yard.options.random(), queue.settings.backoff);
}

function retry(yard: Yard, lease: Lease, cause: string, delayMs: number, waitUntil?: Instant): void {
  const { task } = lease;
  task.queue.running -= 1;
  countWaiting(task, 1);
  moveTask(yard, task, "waiting", cause, lease);
  if (delayMs === 0) makeReady(yard, task, "first", waitUntil);
  else makeSleep(yard, task, "backoff", delayMs);
}

function beat(
  yard: Yard,
  door: DoorState,
  lease: Lease,
  event: Extract<YardEvent, { type: "attempt-beat" }>,
): void {
  const { leaseMs, report } = event;
  if (report !== undefined) takeReport(yard, lease, report);
  if (leaseMs !== undefined && leaseMs > 0) {
    lease.leaseUntil = after(yard.now.instant, leaseMs);
    armLease(yard, lease);
  }
  yard.reply(door, event.request, { type: "beat", leaseMs: leaseMs ?? 0, cancel: false });
}

/** The lease has expired, or the attempt has reached its time limit. */
export function handleLeaseOver(yard: Yard, lease: Lease): void {
  if (lease.isRevoked) {
    yard.revoked.delete(lease.attempt);
    freeSlot(yard, lease);
    return;
  }
  const isLimit = lease.limitAt !== undefined && lease.limitAt <= yard.now.instant;
  const reason: LossReason = isLimit ? "time_limit" : "lease_over";
  revoke(yard, lease, reason);
  countLoss(yard, lease, reason, "");
  serveFreed(yard, lease);
}
