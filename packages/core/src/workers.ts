// Workers join, claim, are lost and are drained.

import { refuseQueue } from "./accepting.js";
import { giveBack, lose } from "./attempts.js";
import type { Claim, DoorState } from "./door-state.js";
import type { LossReason, WorkerProfile, YardEvent } from "./events.js";
import type { Lease } from "./lease.js";
import type { WorkerId } from "./names.js";
import {
  askForBalance,
  beginNext,
  dropClaim,
  endAvoiding,
  reposition,
  returnTogether,
  serve,
  withdraw,
} from "./placing.js";
import type { Queue } from "./queue.js";
import { after } from "./time.js";
import type { WorkerView } from "./views.js";
import { Offer, Worker } from "./worker.js";
import { freeQuota, hostOf, takeQuota, workerQuotaRefusal } from "./worker-quota.js";
import type { Yard } from "./yard.js";

type Joined = Extract<YardEvent, { type: "worker-joined" }>;
type Beat = Extract<YardEvent, { type: "worker-beat" }>;
type Retired = Extract<YardEvent, { type: "worker-retired" }>;
type WorkClaimed = Extract<YardEvent, { type: "work-claimed" }>;

/**
 * How long a queue stays listed after its last worker left in order: people look at it when its
 * work is done.
 */
const lingerMs = 60_000;

/** A worker joins, or a known one changes its profile. It keeps what it holds. */
export function handleJoined(yard: Yard, door: DoorState, event: Joined): void {
  const known = yard.workers.get(event.worker);
  if (known !== undefined && (known.door !== door || known.profile.pulls !== event.profile.pulls)) {
    yard.counters.senseless.add(door.name, event.type);
    return;
  }
  const host = hostOf(event.profile.address);
  const noPlace =
    known === undefined ? workerQuotaRefusal(door, host, yard.workers.size, yard.options.limits) : undefined;
  if (noPlace !== undefined) {
    const { limit, message } = noPlace;
    yard.limitReached(limit);
    yard.step.effects.push({ type: "dismiss", door: door.name, worker: event.worker, message });
    return;
  }
  const slots = slotsOf(yard, event.profile);
  const worker = known ?? new Worker(event.worker, door, event.profile, slots, yard.now.wall);
  worker.profile = event.profile;
  if (worker.isOfferless) worker.countOfferless(-1);
  worker.slots = slots;
  if (worker.isOfferless) worker.countOfferless(1);
  worker.lastSeenAt = yard.now.wall;
  if (known === undefined) {
    yard.workers.set(worker.id, worker);
    door.workers.add(worker);
    worker.host = host;
    takeQuota(door.workersByHost, host);
  }
  serveQueues(yard, worker, event.profile.queues);
  beginNext(yard, worker);
  reposition(yard, worker);
  serve(yard, worker);
  // It was drained while its connection was lost, and has not heard of it.
  if (known?.isDraining && known.held === 0)
    yard.step.effects.push({ type: "drained", door: door.name, worker: known.id });
}

function slotsOf(yard: Yard, profile: WorkerProfile): number {
  if (profile.slots <= yard.options.limits.slotsPerWorker) return profile.slots;
  yard.limitReached("slotsPerWorker");
  return yard.options.limits.slotsPerWorker;
}

/** Makes a worker serve exactly these queues. A pulling worker makes its offers when it claims. */
function serveQueues(yard: Yard, worker: Worker, names: readonly string[]): void {
  if (worker.profile.pulls) return;
  const wanted = new Set(names);
  for (const queue of [...worker.queues]) if (!wanted.has(queue.name)) leaveQueue(yard, worker, queue);
  for (const name of wanted) {
    const queue = yard.queue(name, worker.door, worker.host);
    if (queue === undefined) {
      yard.counters.senseless.add(worker.door.name, "worker-joined");
      continue;
    }
    if (worker.queues.includes(queue) || !joinQueue(yard, worker, queue)) continue;
    worker.offers.push(new Offer(worker, queue, queue.pool(worker.door.name), undefined));
  }
}

/** Makes it serve this queue as well. False if it would serve too many. */
function joinQueue(yard: Yard, worker: Worker, queue: Queue): boolean {
  if (worker.queues.includes(queue)) return true;
  if (worker.queues.length >= yard.options.limits.queuesPerWorker) {
    yard.limitReached("queuesPerWorker");
    yard.dropIfEmpty(queue);
    return false;
  }
  worker.queues.push(queue);
  const pool = queue.pool(worker.door.name);
  pool.serving += 1;
  if (worker.isDraining) pool.draining += 1;
  if (worker.isOfferless) worker.countIn(pool, 1);
  return true;
}

function leaveQueue(yard: Yard, worker: Worker, queue: Queue): void {
  worker.queues.splice(worker.queues.indexOf(queue), 1);
  for (const offer of worker.offers.filter((candidate) => candidate.queue === queue)) {
    withdraw(offer);
    worker.offers.splice(worker.offers.indexOf(offer), 1);
  }
  const pool = queue.pool(worker.door.name);
  pool.serving -= 1;
  if (worker.isDraining) pool.draining -= 1;
  if (worker.isOfferless) worker.countIn(pool, -1);
  if (pool.serving === 0) queue.pools.delete(pool.door);
  endAvoiding(yard, queue);
  yard.dropIfEmpty(queue);
}

export function handleBeat(yard: Yard, door: DoorState, event: Beat): void {
  const worker = yard.workers.get(event.worker);
  if (worker === undefined || worker.door !== door) {
    yard.counters.senseless.add(door.name, event.type);
    return;
  }
  worker.lastSeenAt = yard.now.wall;
  if (event.info !== undefined) worker.info = event.info;
  if (event.queued !== undefined) worker.queued = event.queued;
  if (worker.isOnHold) endHold(yard, worker);
  else if (event.queued !== undefined && worker.profile.givesBack) {
    reposition(yard, worker);
    const [queue] = worker.queues;
    if (queue !== undefined) askForBalance(yard, queue);
  }
}

/** Offers work again to a worker that said it was busy. */
export function endHold(yard: Yard, worker: Worker): void {
  yard.disarm(worker.hold);
  reposition(yard, worker);
  serve(yard, worker);
}

/**
 * Loses workers together with all they hold. None of their tasks goes to a worker that is about to
 * be lost.
 */
export function loseWorkers(yard: Yard, workers: readonly Worker[], reason: LossReason, message = ""): void {
  const told = yard.bounded(message);
  for (const worker of workers) {
    const view = viewWorker(yard, worker, reason);
    yard.lostWorkers.push(view);
    yard.observer?.workerLost(view);
    if (yard.lostWorkers.size > yard.options.limits.lostWorkers) yard.lostWorkers.shift();
  }
  removeWorkers(yard, workers, (lease) => lose(yard, lease, reason, told));
}

/** The worker has left. Its door says so once its last answer is stored. It gets nothing more. */
export function expectDeparture(yard: Yard, door: string, id: WorkerId): void {
  const worker = yard.workers.get(id);
  if (worker === undefined || worker.door.name !== door) return;
  worker.isLeaving = true;
  reposition(yard, worker);
}

/** A worker leaves in order, by its own message. */
export function handleRetired(yard: Yard, door: DoorState, { request, worker: id }: Retired): void {
  const worker = yard.workers.get(id);
  if (worker === undefined) {
    yard.reply(door, request, { type: "refused", code: "not_found", message: `There is no worker ${id}.` });
    return;
  }
  if (worker.door !== door) {
    const message = `Worker ${id} joined through door ${worker.door.name}, so it leaves there; it can be drained here.`;
    yard.reply(door, request, { type: "refused", code: "bad_request", message });
    return;
  }
  for (const queue of worker.queues) {
    const until = after(yard.now.instant, lingerMs);
    queue.linger = yard.armed(queue.linger, { type: "linger", queue }, until);
  }
  removeWorkers(yard, [worker], (lease) => giveBack(yard, lease, "goodbye", 0));
  yard.reply(door, request, { type: "granted" });
}

function removeWorkers(yard: Yard, workers: readonly Worker[], end: (lease: Lease) => void): void {
  returnTogether(yard, () => {
    for (const worker of workers) removeWorker(yard, worker);
    const leases: Lease[] = [];
    for (const worker of workers) gatherLeases(yard, worker, leases);
    // Newest first, so that the oldest ends up at the head of the queue.
    leases.sort((one, other) => other.attempt - one.attempt);
    for (const lease of leases) end(lease);
  });
}

/** Revoked leases end with their worker. The others still hold their tasks. */
function gatherLeases(yard: Yard, worker: Worker, leases: Lease[]): void {
  for (let lease = worker.oldest; lease !== undefined; ) {
    const { newer } = lease;
    if (lease.isRevoked) {
      yard.revoked.delete(lease.attempt);
      yard.disarm(lease.deadline);
      worker.removeLease(lease);
    } else {
      leases.push(lease);
    }
    lease = newer;
  }
}

function removeWorker(yard: Yard, worker: Worker): void {
  worker.isGone = true;
  yard.workers.delete(worker.id);
  worker.door.workers.delete(worker);
  freeQuota(worker.door.workersByHost, worker.host);
  yard.disarm(worker.hold);
  for (const offer of worker.offers.filter((candidate) => candidate.claim !== undefined))
    endUnserved(yard, offer);
  for (const queue of [...worker.queues]) leaveQueue(yard, worker, queue);
  if (worker.giver !== undefined) worker.giver.order?.remove(worker.giver);
}

/** Handles a claim: assigns what is ready at once, or else the first task that arrives in time. */
export function handleWanted(yard: Yard, door: DoorState, event: WorkClaimed): void {
  const worker = yard.workers.get(event.worker);
  const refusal = refuseClaim(yard, door, worker, event);
  if (worker === undefined || refusal !== undefined) {
    yard.reply(
      door,
      event.request,
      refusal ?? { type: "refused", code: "not_found", message: "No such worker." },
    );
    return;
  }
  worker.lastSeenAt = yard.now.wall;
  const queue = yard.queue(event.queue, door, worker.host);
  if (queue === undefined) {
    yard.reply(door, event.request, { type: "refused", ...refuseQueue(event.queue) });
    return;
  }
  if (!joinQueue(yard, worker, queue)) {
    const message = `A worker serves at most ${yard.options.limits.queuesPerWorker} queues.`;
    yard.reply(door, event.request, { type: "refused", code: "queue_full", message });
    return;
  }
  const { request, leaseMs } = event;
  const claim: Claim = {
    door,
    request,
    worker,
    leaseMs,
    left: event.max,
    isWaiting: false,
    offer: undefined,
    deadline: undefined,
  };
  const offer = new Offer(worker, queue, queue.pool(door.name), claim);
  claim.offer = offer;
  worker.offers.push(offer);
  door.claims.set(request, claim);
  reposition(yard, worker);
  serve(yard, worker);
  settleClaim(yard, claim, offer, event);
}

function settleClaim(yard: Yard, claim: Claim, offer: Offer, event: WorkClaimed): void {
  if (claim.left < event.max) {
    dropClaim(yard, offer);
    yard.reply(claim.door, claim.request, { type: "granted" });
  } else if (event.forMs > 0) {
    claim.isWaiting = true;
    claim.deadline = yard.armed(undefined, { type: "claim", claim }, after(yard.now.instant, event.forMs));
  } else {
    endUnserved(yard, offer);
  }
}

function refuseClaim(yard: Yard, door: DoorState, worker: Worker | undefined, event: WorkClaimed) {
  if (worker === undefined || worker.door !== door || !worker.profile.pulls) {
    yard.counters.senseless.add(door.name, event.type);
    return { type: "refused", code: "not_found", message: "No such worker." } as const;
  }
  if (yard.isClosing || worker.isDraining) {
    const who = yard.isClosing ? "The dispatcher is stopping" : "The worker is being drained";
    return { type: "refused", code: "not_ready", message: `${who}; it gets no more work.` } as const;
  }
  if (door.claims.size >= yard.options.limits.waitingRequests) {
    yard.limitReached("waitingRequests");
    return { type: "refused", code: "queue_full", message: "Too many requests wait for work." } as const;
  }
  if (worker.offers.length >= yard.options.limits.claimsPerWorker) {
    yard.limitReached("claimsPerWorker");
    const message = "The worker has too many requests for work open.";
    return { type: "refused", code: "queue_full", message } as const;
  }
  return undefined;
}

/** Ends a claim without a task. */
export function endUnserved(yard: Yard, offer: Offer): void {
  const { claim } = offer;
  if (claim === undefined) return;
  dropClaim(yard, offer);
  yard.reply(claim.door, claim.request, { type: "no-work" });
}

/** Stops assigning to a worker. Its door is told when it no longer holds anything. */
export function drainWorker(yard: Yard, worker: Worker): void {
  if (worker.isDraining) return;
  if (worker.isOfferless) worker.countOfferless(-1);
  worker.isDraining = true;
  for (const queue of worker.queues) queue.pool(worker.door.name).draining += 1;
  for (const offer of worker.offers.filter((candidate) => candidate.claim !== undefined))
    endUnserved(yard, offer);
  reposition(yard, worker);
  for (const queue of worker.queues) endAvoiding(yard, queue);
  if (worker.held === 0)
    yard.step.effects.push({ type: "drained", door: worker.door.name, worker: worker.id });
}

export function viewWorker({ now }: Yard, worker: Worker, lostReason?: LossReason): WorkerView {
  const { profile, held } = worker;
  const open = worker.offers.reduce((sum, offer) => sum + (offer.claim?.left ?? 0), 0);
  return {
    id: worker.id,
    door: worker.door.name,
    dialect: profile.dialect,
    address: profile.address,
    queues: worker.queues.map((queue) => queue.name),
    slots: profile.pulls ? held + open : worker.slots,
    running: held,
    state: stateOf(worker, lostReason),
    joinedAt: worker.joinedAt,
    lastSeenAt: worker.lastSeenAt,
    lostReason,
    lostAt: lostReason === undefined ? undefined : now.wall,
    pulls: profile.pulls,
    done: worker.done,
    failed: worker.failed,
    donePerMinute: worker.doneOfLate.count(now.instant),
    info: worker.info,
  };
}

/** A worker that said it takes nothing is shown as busy, even if it holds no task of ours. */
function stateOf(worker: Worker, lostReason: LossReason | undefined) {
  const { isDraining, held, isOnHold, pulls, slots, queues } = worker;
  if (lostReason !== undefined) return "lost";
  if (isDraining) return "draining";
  // A component that serves no queue is only listed.
  const takesNothing = isOnHold || (!pulls && slots === 0 && queues.length > 0);
  return held > 0 || takesNothing ? "busy" : "idle";
}
