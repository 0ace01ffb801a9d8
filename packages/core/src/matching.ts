// How ready tasks and free workers are matched. Invariant: a ready task and a free worker that
// could run it never coexist. So submitting looks only for a worker, and freeing a worker looks
// only for a task.

import { expire, isPast } from "./expiry.js";
import { holdLease } from "./holding.js";
import { Lease } from "./lease.js";
import { attemptOf } from "./names.js";
import { dropClaim } from "./offers.js";
import type { Queue } from "./queue.js";
import type { RateBucket } from "./rate-bucket.js";
import { goesBefore, type Task } from "./task.js";
import { countWaiting, unplace } from "./task-place.js";
import { beginTask } from "./task-states.js";
import { after } from "./time.js";
import type { Offer, Worker } from "./worker.js";
import type { Yard } from "./yard.js";

export function assign(yard: Yard, task: Task, offer: Offer): void {
  const { worker, claim } = offer;
  const { now } = yard;
  const { queue } = task;
  const waitUntil = task.expiry?.isArmed === true ? task.expiry.at : undefined;
  unplace(yard, task, "leased");
  countWaiting(task, -1);
  queue.running += 1;
  if (queue.bucket !== undefined) takeToken(yard, queue.bucket);
  yard.lastAttempt += 1;
  const attempt = attemptOf(yard.epoch, yard.lastAttempt);
  const lease = new Lease(attempt, task, worker, worker.id, now.wall);
  lease.waitUntil = waitUntil;
  task.lease = lease;
  // Where workers cannot resume attempts after a restart, recording the assignment at once has no
  // use.
  const { isStrict } = queue;
  beginTask(yard, task, lease, claim === undefined && worker.door.forgets && !isStrict);
  if (claim !== undefined) claim.left -= 1;
  const leaseMs = claim?.leaseMs ?? worker.leaseMs;
  if (leaseMs > 0) lease.leaseUntil = after(now.instant, leaseMs);
  holdLease(yard, worker, lease);
  yard.observer?.began(lease, yard.now);
  yard.step.effects.push({
    type: "assign",
    door: worker.door.name,
    worker: worker.id,
    task: task.head,
    attempt,
    leaseMs,
    request: claim?.request,
    waitsForCommit: isStrict,
  });
  if (claim?.isWaiting) endClaim(yard, offer);
}

/** Answers a waiting claim with its first task. */
function endClaim(yard: Yard, offer: Offer): void {
  const { claim } = offer;
  if (claim === undefined) return;
  dropClaim(yard, offer);
  yard.reply(claim.door, claim.request, { type: "granted" });
}

function takeToken(yard: Yard, bucket: RateBucket): void {
  bucket.take(yard.now);
  yard.step.keep(bucket);
  armBucket(yard, bucket);
}

/** Arms the deadline of an empty bucket. */
export function armBucket(yard: Yard, bucket: RateBucket): void {
  if (bucket.isEmpty) yard.deadlines.arm(bucket.deadline, bucket.nextAt);
  else yard.disarm(bucket.deadline);
}

/** The bucket of this queue has a token. */
export function refill(yard: Yard, queue: Queue): void {
  if (queue.bucket !== undefined) queue.bucket.isEmpty = false;
  serveQueue(yard, queue);
}

/** Assigns waiting tasks to a worker with free slots, the best over all its queues first. */
export function serve(yard: Yard, worker: Worker): void {
  while (!yard.isClosing && worker.takesWork && (worker.hasFreeSlot || worker.acceptsUrgentOverflow)) {
    const found = bestFor(worker);
    if (found === undefined) break;
    if (!worker.hasFreeSlot && found.task.head.priority <= worker.urgency) break;
    if (isPast(yard, found.task)) expire(yard, found.task);
    else assign(yard, found.task, found.offer);
  }
  if (worker.takesWork && worker.hasFreeSlot) {
    for (const { queue } of worker.offers) askForBalance(yard, queue);
  }
}

function bestFor(worker: Worker): { task: Task; offer: Offer } | undefined {
  let task: Task | undefined;
  let offer: Offer | undefined;
  for (const candidate of worker.offers) {
    if (candidate.queue.isHeld || (candidate.claim !== undefined && candidate.claim.left === 0)) continue;
    const first = candidate.queue.firstFor(worker);
    if (first === undefined) continue;
    if (task === undefined || goesBefore(first, task)) {
      task = first;
      offer = candidate;
    }
  }
  return task === undefined || offer === undefined ? undefined : { task, offer };
}

/** Assigns the waiting tasks of a queue to its free workers, after a pause or a limit. */
export function serveQueue(yard: Yard, queue: Queue): void {
  while (!yard.isClosing && !queue.isHeld) {
    const next = queue.nextPlacement();
    if (next === undefined) return;
    if (isPast(yard, next.task)) expire(yard, next.task);
    else assign(yard, next.task, next.offer);
  }
}

/** Serves the queues in which a task stopped running, so that a limit may be free again. */
export function serveFreedQueues(yard: Yard): void {
  const queues = new Set(yard.freed);
  yard.freed = [];
  for (const queue of queues) serveQueue(yard, queue);
}

/**
 * A worker stopped serving this queue. If it was the last alternative, tasks return to the workers
 * that failed them.
 */
export function endAvoiding(yard: Yard, queue: Queue): void {
  if (!queue.isAvoiding) return;
  if (yard.returning === undefined) serveQueue(yard, queue);
  else yard.returning.add(queue);
}

/** A worker is free: check soon whether others hold tasks they have not begun. */
export function askForBalance(yard: Yard, queue: Queue): void {
  if (queue.givers.size === 0 || queue.balance?.isArmed === true) return;
  queue.balance = yard.armed(
    queue.balance,
    { type: "balance", queue },
    after(yard.now.instant, yard.options.balanceMs),
  );
}
