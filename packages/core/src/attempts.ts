// Workers' messages about the attempts they hold. A message counts only if its sender holds the
// lease of that attempt. A late message is refused, counted and kept in the task's story.

import type { DoorState } from "./door-state.js";
import type { RevokeReason } from "./effects.js";
import type { AttemptRef, LossReason, ReturnReason, YardEvent } from "./events.js";
import { finish } from "./finishing.js";
import { Lease } from "./lease.js";
import { attemptOf, epochOf } from "./names.js";
import { armLease, avoid, beginNext, holdLease, makeReady, makeSleep, reposition, serve } from "./placing.js";
import { type Body, errorDetailMax, type TaskError } from "./records.js";
import { endReports, takeReport } from "./reports.js";
import { retryDelayMs } from "./retry-policy.js";
import type { Task } from "./task.js";
import { countWaiting, unplace } from "./task-place.js";
import { moveTask, tellStory } from "./task-states.js";
import { after, type Instant } from "./time.js";
import type { Worker } from "./worker.js";
import type { Yard } from "./yard.js";

type AttemptEvent = Extract<YardEvent, AttemptRef>;

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

/**
 * Finds the revoked lease that a message is about: without an attempt number, the worker's oldest
 * lease of that task.
 */
function revokedLease(yard: Yard, worker: Worker | undefined, event: AttemptRef): Lease | undefined {
  if (worker === undefined || worker.revoked === 0) return undefined;
  if (event.attempt !== undefined) {
    const lease = yard.revoked.get(event.attempt);
    return lease?.worker === worker ? lease : undefined;
  }
  let lease = worker.oldest;
  while (lease !== undefined && !(lease.isRevoked && lease.task.head.id === event.task)) lease = lease.newer;
  return lease;
}

/**
 * True if this attempt holds its task. The door has its answer, and posts it once the result is
 * stored. Until then neither the lease nor the time limit may end the attempt.
 */
export function expectAnswer(yard: Yard, event: AttemptRef): boolean {
  const task = yard.tasks.get(event.task);
  const isRefused = revokedLease(yard, yard.workers.get(event.worker), event) !== undefined;
  const lease = task === undefined || isRefused ? undefined : currentLease(task, event);
  if (lease === undefined) return false;
  lease.hasAnswered = true;
  yard.disarm(lease.deadline);
  return true;
}

function currentLease(task: Task, event: AttemptRef): Lease | undefined {
  const { lease } = task;
  if (task.state !== "running" || lease === undefined || lease.workerId !== event.worker) return undefined;
  if (event.isOfBefore === true) return undefined;
  return event.attempt === undefined || event.attempt === lease.attempt ? lease : undefined;
}

/**
 * After our restart, a worker that names a task gets its lease back unless the task was given out
 * again. A task recorded as running belongs to the recorded worker. A task recorded as waiting may
 * have been given out just before we stopped: it belongs to the worker that names an attempt from
 * before the restart or, if no attempt is recorded, to the worker that names the task.
 */
function reclaim(yard: Yard, task: Task, event: AttemptRef, worker: Worker | undefined): Lease | undefined {
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

/** Refuses a message about an attempt that does not hold its task. */
function refuse(
  yard: Yard,
  door: DoorState,
  task: Task | undefined,
  event: AttemptEvent,
  revoked: Lease | undefined,
): void {
  if (event.type === "attempt-beat") {
    // A beat is not an answer: the worker is told to stop, and its slot stays taken.
    if (revoked !== undefined) yard.reply(door, event.request, { type: "beat", leaseMs: 0, cancel: true });
    else refuseStale(yard, door, task, event);
    return;
  }
  // A task that was returned untried is not a late answer.
  if (revoked !== undefined && event.type === "attempt-returned")
    yard.reply(door, event.request, { type: "granted", task: event.task });
  else refuseStale(yard, door, task, event);
  if (revoked !== undefined) {
    yard.revoked.delete(revoked.attempt);
    freeSlot(yard, revoked);
  }
}

function refuseStale(yard: Yard, door: DoorState, task: Task | undefined, event: AttemptEvent): void {
  yard.counters.staleResults.add(door.name);
  const what = event.type.slice("attempt-".length);
  if (task !== undefined && event.type !== "attempt-beat" && !isRepeated(task, event, what)) {
    tellStory(yard, task, `late: ${what} refused`, { attempt: event.attempt, workerId: event.worker });
  }
  yard.reply(door, event.request, {
    type: "refused",
    code: task === undefined ? "not_found" : "stale_attempt",
    message: `This attempt does not hold the task (any more), so its ${what} does not count.`,
    task: event.task,
  });
}

/** True if the message only repeats what this attempt said before. */
function isRepeated(task: Task, event: AttemptRef, what: string): boolean {
  if (hasEnded(task, event)) return true;
  if (event.attempt === undefined || task.story === undefined) return false;
  return task.story.some(({ attempt, worker, cause }) => {
    return attempt === event.attempt && worker === event.worker && cause.startsWith(`${what}: `);
  });
}

/** True if this attempt's own answer ended the task. */
function hasEnded(task: Task, event: AttemptRef): boolean {
  const { lease, state } = task;
  if (lease?.workerId !== event.worker || (event.attempt ?? lease.attempt) !== lease.attempt) return false;
  return state === "done" || (state === "failed" && task.losses < task.head.policy.attempts);
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

/**
 * Revokes a lease whose worker has not answered. A worker with slots keeps this slot taken until it
 * answers or reconnects. A pulling worker has no slots: it is only told to stop, until its lease
 * would have expired.
 */
export function revoke(yard: Yard, lease: Lease, reason: RevokeReason): void {
  const { worker } = lease;
  yard.disarm(lease.deadline);
  endReports(yard, lease);
  if (worker === undefined) return;
  yard.step.effects.push({
    type: "revoke",
    door: worker.door.name,
    worker: worker.id,
    task: lease.task.head.id,
    attempt: lease.attempt,
    reason,
  });
  if (worker.profile.pulls && (lease.leaseUntil ?? 0) <= yard.now.instant) {
    freeSlot(yard, lease);
    return;
  }
  lease.isRevoked = true;
  worker.revoked += 1;
  yard.revoked.set(lease.attempt, lease);
  if (worker.profile.pulls && lease.leaseUntil !== undefined) {
    lease.deadline = yard.armed(lease.deadline, { type: "lease", lease }, lease.leaseUntil);
  }
}

/**
 * Removes a lease from its worker without looking for new work. Call `serveFreed` once the task is
 * where it belongs.
 */
export function release(yard: Yard, lease: Lease): void {
  yard.disarm(lease.deadline);
  endReports(yard, lease);
  const { worker } = lease;
  if (worker === undefined) return;
  worker.removeLease(lease);
  if (worker.isGone) return;
  beginNext(yard, worker);
  reposition(yard, worker);
}

function freeSlot(yard: Yard, lease: Lease): void {
  release(yard, lease);
  serveFreed(yard, lease);
}

function serveFreed(yard: Yard, lease: Lease): void {
  const { worker } = lease;
  if (worker === undefined || worker.isGone) return;
  if (worker.isDraining && worker.held === 0) {
    yard.step.effects.push({ type: "drained", door: worker.door.name, worker: worker.id });
  }
  serve(yard, worker);
}
