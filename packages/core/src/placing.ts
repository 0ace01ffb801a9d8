// Where a waiting task is kept, and how tasks and workers are matched. Invariant: a ready task and
// a free worker that could run it never coexist. So submitting looks only for a worker, and freeing
// a worker looks only for a task.

import { finish } from "./finishing.js";
import { Lease } from "./lease.js";
import type { LoadEntry } from "./load-order.js";
import { attemptOf } from "./names.js";
import { goesBefore, type Queue } from "./queue.js";
import type { RateBucket } from "./rate-bucket.js";
import type { Task } from "./task.js";
import { countWaiting, setPlace, unplace } from "./task-place.js";
import { beginTask } from "./task-states.js";
import { after, type Instant, later } from "./time.js";
import { UrgencyEntry } from "./urgency-order.js";
import { whyWaiting } from "./why.js";
import type { Offer, Worker } from "./worker.js";
import type { Yard } from "./yard.js";

/**
 * Makes a waiting task ready, or assigns it at once if a worker is free. `waitUntil`: the end of a
 * wait for a worker that began earlier.
 */
export function makeReady(yard: Yard, task: Task, end: "first" | "last", waitUntil?: Instant): void {
  setPlace(yard, task, "ready");
  armExpiry(yard, task, waitUntil);
  if (isPast(yard, task)) {
    expire(yard, task);
    return;
  }
  yard.returning?.add(task.queue);
  const { queue } = task;
  const isKept =
    yard.isClosing || queue.isHeld || yard.returning !== undefined || task.group?.isFull === true;
  // A task that comes back must not have the turn of a group that waits.
  const waitsTurn = end === "first" && queue.ready.takesTurns && queue.ready.size > 0;
  const offer = isKept || waitsTurn ? undefined : queue.offerFor(task);
  if (offer !== undefined) assign(yard, task, offer);
  else {
    queue.pushReady(task, end);
    if (waitsTurn) yard.freed.push(queue);
  }
}

/** Puts several tasks back. None is assigned before all of them are in order. */
export function returnTogether(yard: Yard, putBack: () => void): void {
  const queues = new Set<Queue>();
  yard.returning = queues;
  putBack();
  yard.returning = undefined;
  for (const queue of queues) serveQueue(yard, queue);
}

/** Makes a waiting task wait for others to end. Its latest start still holds. */
export function makeBlocked(yard: Yard, task: Task): void {
  setPlace(yard, task, "blocked");
  armExpiry(yard, task);
}

/** Delays a waiting task by `ms`. */
export function makeSleep(yard: Yard, task: Task, place: "delayed" | "backoff", ms: number): void {
  setPlace(yard, task, place);
  if (place === "backoff") task.notBefore = later(yard.now.wall, ms);
  task.wake = yard.armed(task.wake, { type: "wake", task }, after(yard.now.instant, ms));
  armExpiry(yard, task);
}

/**
 * Ends a delay or backoff. A delayed task joins the end of its queue; a retried one goes to the
 * head.
 */
export function wake(yard: Yard, task: Task): void {
  task.notBefore = 0;
  makeReady(yard, task, task.place === "delayed" ? "last" : "first");
}

/**
 * Arms the earlier of the two expiries. The maximum wait is counted anew each time the task becomes
 * ready, because it could not have been assigned while delayed or in backoff. Only a returned task
 * continues its earlier wait.
 */
function armExpiry(yard: Yard, task: Task, waitUntil?: Instant): void {
  const { waitingMsMax } = task.head.policy;
  let at = task.expiresAt;
  if (waitingMsMax > 0 && task.place === "ready") {
    const waited = waitUntil ?? after(yard.now.instant, waitingMsMax);
    if (at === undefined || waited < at) at = waited;
  }
  if (at !== undefined) task.expiry = yard.armed(task.expiry, { type: "expire", task }, at);
  else yard.disarm(task.expiry);
}

/**
 * True if the task has expired although its deadline has not been handled yet. It must not be
 * assigned.
 */
function isPast(yard: Yard, task: Task): boolean {
  return task.expiry?.isArmed === true && task.expiry.at <= yard.now.instant;
}

export function expire(yard: Yard, task: Task): void {
  const { message = "" } = whyWaiting(yard, task) ?? {};
  finish(yard, task, "expired", "expired", {
    error: {
      code: "expired",
      message: `No worker began the task before its time was over. ${message}`.trimEnd(),
    },
  });
}

function assign(yard: Yard, task: Task, offer: Offer): void {
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

/** Serves the queues in which a task stopped running, so that a limit may be free again. */
export function serveFreedQueues(yard: Yard): void {
  const queues = new Set(yard.freed);
  yard.freed = [];
  for (const queue of queues) serveQueue(yard, queue);
}

/** Gives the worker the lease, and begins as many attempts as it runs at once. */
export function holdLease(yard: Yard, worker: Worker, lease: Lease): void {
  worker.addLease(lease);
  beginNext(yard, worker);
  armLease(yard, lease);
  reposition(yard, worker);
}

/** Answers a waiting claim with its first task. */
function endClaim(yard: Yard, offer: Offer): void {
  const { claim } = offer;
  if (claim === undefined) return;
  dropClaim(yard, offer);
  yard.reply(claim.door, claim.request, { type: "granted" });
}

export function dropClaim(yard: Yard, offer: Offer): void {
  const { claim, worker } = offer;
  if (claim === undefined) return;
  claim.door.claims.delete(claim.request);
  yard.disarm(claim.deadline);
  withdraw(offer);
  worker.offers.splice(worker.offers.indexOf(offer), 1);
}

/** Marks the attempts that the worker can be running as begun. Their time limits start here. */
export function beginNext(yard: Yard, worker: Worker): void {
  const atOnce = worker.pulls ? worker.held : worker.runsAtOnce;
  while (worker.begun < atOnce && worker.nextToBegin !== undefined) {
    const lease = worker.nextToBegin;
    worker.nextToBegin = lease.newer;
    lease.hasBegun = true;
    worker.begun += 1;
    if (lease.isRecalled) worker.recalled -= 1;
    const limitMs = lease.task.head.policy.attemptTimeoutMs;
    if (limitMs > 0 && !lease.isRevoked) {
      lease.limitAt = after(yard.now.instant, limitMs);
      armLease(yard, lease);
    }
  }
}

export function armLease(yard: Yard, lease: Lease): void {
  const { leaseUntil, limitAt } = lease;
  if (lease.hasAnswered) return;
  const isLimitFirst = limitAt !== undefined && (leaseUntil === undefined || limitAt < leaseUntil);
  const at = isLimitFirst ? limitAt : leaseUntil;
  if (at !== undefined) lease.deadline = yard.armed(lease.deadline, { type: "lease", lease }, at);
}

/**
 * Moves the worker's offers to the position of its current load, or withdraws them if it can take
 * nothing.
 */
export function reposition(yard: Yard, worker: Worker): void {
  const offers = worker.takesWork && worker.hasFreeSlot;
  for (const offer of worker.offers) {
    const { entry } = offer;
    const isOffered = offers && offer.claim?.left !== 0;
    // An offer with an unchanged load keeps its position: a beat is not a use.
    if (isOffered && entry.order !== undefined && entry.load === worker.held) continue;
    withdraw(offer);
    if (!isOffered) {
      if (worker.acceptsUrgentOverflow && worker.takesWork) takeUrgent(offer);
      continue;
    }
    yard.lastStamp += 1;
    offer.pool.offers.add(entry, worker.held, yard.lastStamp);
  }
  if (worker.giver !== undefined) repositionGiver(worker, worker.giver);
}

/** A worker with recalled tasks is not asked again until those are back or have begun. */
function repositionGiver(worker: Worker, giver: LoadEntry<Worker>): void {
  giver.order?.remove(giver);
  const [queue] = worker.queues;
  if (queue === undefined || worker.isGone || !worker.profile.givesBack) return;
  if (worker.recalled === 0 && worker.unbegun > 0) queue.givers.add(giver, worker.held, 0);
}

export function withdraw({ entry, urgent }: Offer): void {
  entry.order?.remove(entry);
  urgent?.order?.remove(urgent);
}

/** Keeps a full worker available for a task that is more urgent than all it holds. */
function takeUrgent(offer: Offer): void {
  offer.urgent ??= new UrgencyEntry<Offer>(offer);
  offer.pool.urgent.put(offer.urgent, offer.worker.urgency);
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

/** Maximum number of workers that a task avoids. Larger than the default number of attempts. */
const avoidsMax = 8;

/** Makes the task avoid a worker that failed it. */
export function avoid(task: Task, worker: Worker): void {
  const avoids = task.avoids?.filter((other) => other !== worker && !other.isGone) ?? [];
  task.avoids = [...avoids.slice(-avoidsMax + 1), worker];
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
