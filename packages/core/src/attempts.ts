// What workers say of the attempts they hold. A word counts only from the worker that holds the lease and for that
// attempt; a late one is refused, counted, and kept in the story.

import type { DoorState } from "./door-state.js";
import type { RevokeReason } from "./effects.js";
import type { AttemptClaim, LossReason, ReturnReason, YardEvent } from "./events.js";
import { finish } from "./finishing.js";
import { Lease } from "./lease.js";
import { attemptOf, epochOf } from "./names.js";
import {
  armLease,
  avoid,
  beginNext,
  countWaiting,
  holdLease,
  makeReady,
  makeSleep,
  reposition,
  serve,
  unplace,
} from "./placing.js";
import type { Body, TaskError } from "./records.js";
import { retryDelayMs } from "./retry-policy.js";
import type { Task } from "./task.js";
import { moveTask, tellStory } from "./task-states.js";
import { after, type Instant } from "./time.js";
import type { Worker } from "./worker.js";
import type { Yard } from "./yard.js";

type AttemptEvent = Extract<YardEvent, AttemptClaim>;

export function handleAttempt(yard: Yard, door: DoorState, event: AttemptEvent): void {
  const worker = yard.workers.get(event.worker);
  if (worker !== undefined) worker.lastSeenAt = yard.now.wall;
  const task = yard.tasks.get(event.task);
  const lifted = liftedLease(yard, worker, event);
  const isRefused = task === undefined || lifted !== undefined;
  const lease = isRefused ? undefined : (currentLease(task, event) ?? reclaim(yard, task, event, worker));
  if (lease === undefined) {
    refuse(yard, door, task, event, lifted);
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

/** The lifted lease that a word is about. Where no attempt is named, the worker's oldest of that task. */
function liftedLease(yard: Yard, worker: Worker | undefined, event: AttemptClaim): Lease | undefined {
  if (worker === undefined || worker.lifted === 0) return undefined;
  if (event.attempt !== undefined) {
    const lease = yard.lifted.get(event.attempt);
    return lease?.worker === worker ? lease : undefined;
  }
  let lease = worker.oldest;
  while (lease !== undefined && !(lease.isLifted && lease.task.head.id === event.task)) lease = lease.newer;
  return lease;
}

function currentLease(task: Task, event: AttemptClaim): Lease | undefined {
  const { lease } = task;
  if (task.state !== "running" || lease === undefined || lease.workerId !== event.worker) return undefined;
  if (event.isOfBefore === true) return undefined;
  return event.attempt === undefined || event.attempt === lease.attempt ? lease : undefined;
}

/**
 * After our restart a worker that names a task gets its lease back, as long as the task was not given out again. One that
 * was running then belongs to the worker that is on record for it; one on record as waiting may have been given out
 * just before we stopped, and belongs to whoever names an attempt of before, or, if none is on record, the task alone.
 */
function reclaim(yard: Yard, task: Task, event: AttemptClaim, worker: Worker | undefined): Lease | undefined {
  if (!yard.graceDeadline.isArmed || task.state !== "waiting" || worker === undefined) return undefined;
  if (task.head.id > yard.lastRestored) return undefined;
  const last = task.lease;
  if (last !== undefined && epochOf(last.attempt) === yard.epoch) return undefined;
  const { attempt } = event;
  if (attempt !== undefined && epochOf(attempt) >= yard.epoch) return undefined;
  if (task.place === "recovering") {
    if (last === undefined || last.workerId !== event.worker) return undefined;
    if (attempt !== undefined && attempt !== last.attempt) return undefined;
  } else if (last !== undefined && (attempt === undefined || attempt <= last.attempt)) {
    return undefined;
  }
  return resume(yard, task, worker, attempt ?? last?.attempt);
}

function resume(yard: Yard, task: Task, worker: Worker, attempt: Lease["attempt"] | undefined): Lease {
  unplace(yard, task, "leased");
  countWaiting(task, -1);
  task.queue.running += 1;
  const number = attempt ?? attemptOf(yard.epoch, ++yard.lastAttempt);
  const lease = new Lease(number, task, worker, worker.id, task.lease?.startedAt ?? yard.now.wall);
  task.lease = lease;
  moveTask(yard, task, "running", "resumed", lease);
  // A worker that pulls has its lease for as long as it last asked; until it beats, the grace period is that long.
  if (worker.profile.pulls) lease.leaseUntil = yard.graceDeadline.at;
  holdLease(yard, worker, lease);
  return lease;
}

/** A word about an attempt that does not hold its task. */
function refuse(
  yard: Yard,
  door: DoorState,
  task: Task | undefined,
  event: AttemptEvent,
  lifted: Lease | undefined,
): void {
  if (event.type === "attempt-beat") {
    // Not an answer yet: the worker is told to give up, and keeps its slot.
    if (lifted !== undefined) yard.reply(door, event.request, { type: "beat", leaseMs: 0, cancel: true });
    else refuseStale(yard, door, task, event);
    return;
  }
  // What was given back untried is no late answer.
  if (lifted !== undefined && event.type === "attempt-returned")
    yard.reply(door, event.request, { type: "granted", task: event.task });
  else refuseStale(yard, door, task, event);
  if (lifted !== undefined) {
    yard.lifted.delete(lifted.attempt);
    letGo(yard, lifted);
  }
}

function refuseStale(yard: Yard, door: DoorState, task: Task | undefined, event: AttemptEvent): void {
  yard.counters.staleResults.add(door.name);
  const what = event.type.slice("attempt-".length);
  if (task !== undefined && event.type !== "attempt-beat" && !hasEnded(task, event)) {
    tellStory(yard, task, `late: ${what} refused`, { attempt: event.attempt, workerId: event.worker });
  }
  yard.reply(door, event.request, {
    type: "refused",
    code: task === undefined ? "not_found" : "stale_attempt",
    message: `This attempt does not hold the task (any more), so its ${what} does not count.`,
    task: event.task,
  });
}

/** Whether this attempt's own answer ended the task: it only says it again. */
function hasEnded(task: Task, event: AttemptClaim): boolean {
  const { lease, state } = task;
  if (lease?.workerId !== event.worker || (event.attempt ?? lease.attempt) !== lease.attempt) return false;
  return state === "done" || (state === "failed" && task.losses < task.head.policy.attempts);
}

function succeed(yard: Yard, lease: Lease, result: Body): void {
  release(yard, lease);
  finish(yard, lease.task, "done", "done", { result, by: lease });
  serveFreed(yard, lease);
}

function fail(yard: Yard, lease: Lease, error: TaskError, result: Body | undefined): void {
  const { task } = lease;
  task.failures += 1;
  release(yard, lease);
  if (task.failures >= task.head.policy.failures)
    finish(yard, task, "failed", "failed", { error, by: lease, ...(result && { result }) });
  else retry(yard, lease, `failed: ${error.message}`, retryDelayMs(task.failures, yard.options.random()));
  serveFreed(yard, lease);
}

/** For another worker to try: it counts as a loss, and this one does not get it again while there is another. */
function report(yard: Yard, lease: Lease, { message }: TaskError): void {
  if (lease.worker !== undefined) avoid(lease.task, lease.worker);
  lose(yard, lease, "reported", yard.bounded(message));
}

function boundedError(yard: Yard, { code, message }: TaskError): TaskError {
  return { code: yard.bounded(code), message: yard.bounded(message) };
}

/** An attempt is lost, by its worker's word or by its worker's loss. Its slot is free. */
export function lose(yard: Yard, lease: Lease, reason: LossReason, message = ""): void {
  release(yard, lease);
  countLoss(yard, lease, reason, message);
  serveFreed(yard, lease);
}

/** The task of a lost attempt goes back to the head of its queue, or ends as poison. */
function countLoss(yard: Yard, lease: Lease, reason: LossReason, message: string): void {
  const { task } = lease;
  task.losses += 1;
  yard.counters.lostAttempts.add(lease.worker?.door.name ?? "", reason);
  const cause = message === "" ? `lost: ${reason}` : `lost: ${reason}: ${message}`;
  const { attempts } = task.head.policy;
  if (task.losses < attempts) {
    retry(yard, lease, cause, retryDelayMs(task.losses, yard.options.random()));
    return;
  }
  const times = attempts === 1 ? "once" : `${attempts} times`;
  finish(yard, task, "failed", cause, {
    error: { code: "poison", message: `Lost ${times} with its worker, the last time by ${reason}.` },
    by: lease,
  });
}

/** Comes back untried: it costs nothing, goes first, and has waited all along, unless we stop and it was at work. */
export function giveBack(yard: Yard, lease: Lease, reason: ReturnReason, holdMs: number): void {
  const { task, worker } = lease;
  release(yard, lease);
  yard.counters.returnedAttempts.add(worker?.door.name ?? "", reason);
  if (worker !== undefined && reason === "does_not_fit") {
    task.unfit = [...new Set([...(task.unfit ?? []), worker.door.name])].sort();
  }
  // One that only says it is busy, perhaps for good, is not the other worker that a failed task waits for.
  if (worker !== undefined && reason === "busy" && task.avoids !== undefined) avoid(task, worker);
  if (worker !== undefined && holdMs > 0) {
    worker.hold = yard.armed(worker.hold, { type: "hold", worker }, after(yard.now.instant, holdMs));
    reposition(yard, worker);
  }
  retry(yard, lease, `returned: ${reason}`, 0, reason === "drain" ? undefined : lease.waitUntil);
  serveFreed(yard, lease);
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
  const { leaseMs } = event;
  if (leaseMs !== undefined && leaseMs > 0) {
    lease.leaseUntil = after(yard.now.instant, leaseMs);
    armLease(yard, lease);
  }
  yard.reply(door, event.request, { type: "beat", leaseMs: leaseMs ?? 0, cancel: false });
}

/** A lease's time, or its attempt's, is over. */
export function handleLeaseOver(yard: Yard, lease: Lease): void {
  if (lease.isLifted) {
    yard.lifted.delete(lease.attempt);
    letGo(yard, lease);
    return;
  }
  const isLimit = lease.limitAt !== undefined && lease.limitAt <= yard.now.instant;
  const reason: LossReason = isLimit ? "time_limit" : "lease_over";
  lift(yard, lease, reason);
  countLoss(yard, lease, reason, "");
  serveFreed(yard, lease);
}

/**
 * Takes the task off a lease whose worker has not answered. A worker with slots keeps this one taken until it answers or
 * reconnects; one that pulls has no slot to keep, and is only told to give up for as long as its lease would have lasted.
 */
export function lift(yard: Yard, lease: Lease, reason: RevokeReason): void {
  const { worker } = lease;
  yard.disarm(lease.deadline);
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
    letGo(yard, lease);
    return;
  }
  lease.isLifted = true;
  worker.lifted += 1;
  yard.lifted.set(lease.attempt, lease);
  if (worker.profile.pulls && lease.leaseUntil !== undefined) {
    lease.deadline = yard.armed(lease.deadline, { type: "lease", lease }, lease.leaseUntil);
  }
}

/** Takes a lease off its worker without asking what is next for it; `serveFreed` does, when the task is where it belongs. */
export function release(yard: Yard, lease: Lease): void {
  yard.disarm(lease.deadline);
  const { worker } = lease;
  if (worker === undefined) return;
  worker.removeLease(lease);
  if (worker.isGone) return;
  beginNext(yard, worker);
  reposition(yard, worker);
}

function letGo(yard: Yard, lease: Lease): void {
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
