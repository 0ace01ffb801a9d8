// Where a waiting task is put, and how tasks and workers find each other. The rule that everything else relies on: of
// any ready task and any free worker that could take it, one of the two is not there. So a new task looks only for a
// worker, a freed worker only for a task, and neither has to look far.

import { finish } from "./finishing.js";
import { Lease } from "./lease.js";
import type { LoadEntry } from "./load-order.js";
import { attemptOf } from "./names.js";
import { goesBefore, type Queue } from "./queue.js";
import type { Place, Task } from "./task.js";
import { beginTask } from "./task-states.js";
import { after, type Instant, later } from "./time.js";
import { UrgencyEntry } from "./urgency-order.js";
import { whyWaiting } from "./why.js";
import type { Offer, Worker } from "./worker.js";
import type { Yard } from "./yard.js";

/**
 * Puts a waiting task among the ready, or straight into the hands of a worker. `waitUntil`: its wait for a worker began
 * earlier and ends then.
 */
export function makeReady(yard: Yard, task: Task, end: "first" | "last", waitUntil?: Instant): void {
  setPlace(yard, task, "ready");
  armExpiry(yard, task, waitUntil);
  if (isPast(yard, task)) {
    expire(yard, task);
    return;
  }
  yard.returning?.add(task.queue);
  const isKept = yard.isClosing || task.queue.isPaused || yard.returning !== undefined;
  const offer = isKept ? undefined : task.queue.offerFor(task);
  if (offer !== undefined) assign(yard, task, offer);
  else if (end === "first") task.queue.readyQueueFor(task).pushFirst(task);
  else task.queue.readyQueueFor(task).pushLast(task);
}

/** Puts several tasks back: nobody is given one of them before all are in their order. */
export function returnTogether(yard: Yard, putBack: () => void): void {
  const queues = new Set<Queue>();
  yard.returning = queues;
  putBack();
  yard.returning = undefined;
  for (const queue of queues) serveQueue(yard, queue);
}

/** Lets a waiting task sleep for so long. */
export function makeSleep(yard: Yard, task: Task, place: "delayed" | "backoff", ms: number): void {
  setPlace(yard, task, place);
  if (place === "backoff") task.notBefore = later(yard.now.wall, ms);
  task.wake = yard.armed(task.wake, { type: "wake", task }, after(yard.now.instant, ms));
  armExpiry(yard, task);
}

/** A delay or backoff is over. One that was delayed queues up; one that was tried goes first. */
export function wake(yard: Yard, task: Task): void {
  task.notBefore = 0;
  makeReady(yard, task, task.place === "delayed" ? "last" : "first");
}

/** Takes a task out of wherever it waits, to be leased or finished. */
export function unplace(yard: Yard, task: Task, to: Place): void {
  task.list?.owner.remove(task);
  yard.disarm(task.wake);
  yard.disarm(task.expiry);
  task.notBefore = 0;
  setPlace(yard, task, to);
}

export function setPlace(yard: Yard, task: Task, place: Place): void {
  if (task.place === "recovering") yard.recovering.delete(task);
  task.queue.count(task.place, -1);
  task.place = place;
  task.queue.count(place, 1);
  if (place === "recovering") yard.recovering.add(task);
}

/** Counts a task among those that wait in its queue, or out of them. */
export function countWaiting(task: Task, by: 1 | -1): void {
  task.queue.waiting += by;
  task.queue.waitingBytes += by * task.head.payload.size;
}

/**
 * Arms the earlier of both ways to expire. The time a task may wait begins anew each time it becomes ready: while it is
 * in backoff, or delayed by its own client, it could not have been placed. Only a return goes on with the wait it ended.
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

/** Past its time, although the deadline that says so has not been handled yet: nobody gets it any more. */
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
  const waitUntil = task.expiry?.isArmed === true ? task.expiry.at : undefined;
  unplace(yard, task, "leased");
  countWaiting(task, -1);
  task.queue.running += 1;
  yard.lastAttempt += 1;
  const attempt = attemptOf(yard.epoch, yard.lastAttempt);
  const lease = new Lease(attempt, task, worker, worker.id, now.wall);
  lease.waitUntil = waitUntil;
  task.lease = lease;
  // Where workers cannot come back for it after a restart, there is nobody to tell from one who never had it.
  beginTask(yard, task, lease, claim === undefined && worker.door.forgets);
  if (claim !== undefined) {
    claim.left -= 1;
    lease.leaseUntil = after(now.instant, claim.leaseMs);
  }
  holdLease(yard, worker, lease);
  yard.step.effects.push({
    type: "assign",
    door: worker.door.name,
    worker: worker.id,
    task: task.head,
    attempt,
    leaseMs: claim?.leaseMs ?? 0,
    request: claim?.request,
  });
  if (claim?.isWaiting) endClaim(yard, offer);
}

/** Gives the worker the lease, and begins what it can begin. */
export function holdLease(yard: Yard, worker: Worker, lease: Lease): void {
  worker.addLease(lease);
  beginNext(yard, worker);
  armLease(yard, lease);
  reposition(yard, worker);
}

/** A wish for work that has waited is answered with the first task there is. */
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

/** Marks as begun what the worker can be at work on; their time limits run from here. */
export function beginNext(yard: Yard, worker: Worker): void {
  const atOnce = worker.pulls ? worker.held : worker.runsAtOnce;
  while (worker.begun < atOnce && worker.nextToBegin !== undefined) {
    const lease = worker.nextToBegin;
    worker.nextToBegin = lease.newer;
    lease.hasBegun = true;
    worker.begun += 1;
    if (lease.isRecalled) worker.recalled -= 1;
    const limitMs = lease.task.head.policy.attemptTimeoutMs;
    if (limitMs > 0 && !lease.isLifted) {
      lease.limitAt = after(yard.now.instant, limitMs);
      armLease(yard, lease);
    }
  }
}

export function armLease(yard: Yard, lease: Lease): void {
  const { leaseUntil, limitAt } = lease;
  const isLimitFirst = limitAt !== undefined && (leaseUntil === undefined || limitAt < leaseUntil);
  const at = isLimitFirst ? limitAt : leaseUntil;
  if (at !== undefined) lease.deadline = yard.armed(lease.deadline, { type: "lease", lease }, at);
}

/** Puts the worker's offers where its load now belongs, or takes them out when it can take nothing. */
export function reposition(yard: Yard, worker: Worker): void {
  const offers = worker.takesWork && worker.hasFreeSlot;
  for (const offer of worker.offers) {
    const { entry } = offer;
    const isOffered = offers && offer.claim?.left !== 0;
    // One whose load is the same keeps its place: a beat is not a use.
    if (isOffered && entry.order !== undefined && entry.load === worker.held) continue;
    withdraw(offer);
    if (!isOffered) {
      if (worker.passesLimit && worker.takesWork) takeUrgent(offer);
      continue;
    }
    yard.lastStamp += 1;
    offer.pool.offers.add(entry, worker.held, yard.lastStamp);
  }
  if (worker.giver !== undefined) repositionGiver(worker, worker.giver);
}

/** One that has been asked is not asked again before what was named is back or has begun. */
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

/** It is full, and still there for what is more urgent than all it holds. */
function takeUrgent(offer: Offer): void {
  offer.urgent ??= new UrgencyEntry<Offer>(offer);
  offer.pool.urgent.put(offer.urgent, offer.worker.urgency);
}

/** Gives a worker that can take more what waits for it, the best over all its queues first. */
export function serve(yard: Yard, worker: Worker): void {
  while (!yard.isClosing && worker.takesWork && (worker.hasFreeSlot || worker.passesLimit)) {
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
    if (candidate.queue.isPaused || (candidate.claim !== undefined && candidate.claim.left === 0)) continue;
    const first = candidate.queue.firstFor(worker);
    if (first === undefined) continue;
    if (task === undefined || goesBefore(first, task)) {
      task = first;
      offer = candidate;
    }
  }
  return task === undefined || offer === undefined ? undefined : { task, offer };
}

/** Gives out what waits in a queue, as far as there are workers: after a pause, or when it was kept back. */
export function serveQueue(yard: Yard, queue: Queue): void {
  while (!yard.isClosing && !queue.isPaused) {
    const next = queue.nextPlacement();
    if (next === undefined) return;
    if (isPast(yard, next.task)) expire(yard, next.task);
    else assign(yard, next.task, next.offer);
  }
}

/** The most workers that a task is kept from; more than its attempts are by default. */
const avoidsMax = 8;

/** The worker failed this task, and another is to try it. */
export function avoid(task: Task, worker: Worker): void {
  const avoids = task.avoids?.filter((other) => other !== worker && !other.isGone) ?? [];
  task.avoids = [...avoids.slice(-avoidsMax + 1), worker];
}

/** A worker takes no more of this queue: where it was the last other one, those that failed a task get it again. */
export function endAvoiding(yard: Yard, queue: Queue): void {
  if (!queue.isAvoiding) return;
  if (yard.returning === undefined) serveQueue(yard, queue);
  else yard.returning.add(queue);
}

/** Somebody could do more: see before long whether others hold what they have not begun. */
export function askForBalance(yard: Yard, queue: Queue): void {
  if (queue.givers.size === 0 || queue.balance?.isArmed === true) return;
  queue.balance = yard.armed(
    queue.balance,
    { type: "balance", queue },
    after(yard.now.instant, yard.options.balanceMs),
  );
}
