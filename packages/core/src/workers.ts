// Workers join, beat, are lost, retire and are drained.

import type { LossReason } from "./attempt-events.js";
import { giveBack, lose } from "./attempts.js";
import { endUnserved } from "./claims.js";
import type { DoorState } from "./door-state.js";
import type { YardEvent } from "./events.js";
import { beginNext } from "./holding.js";
import type { Lease } from "./lease.js";
import { askForBalance, endAvoiding, serve } from "./matching.js";
import type { WorkerId } from "./names.js";
import { reposition } from "./offers.js";
import { returnTogether } from "./placing.js";
import { leaveQueue, serveQueues } from "./serving.js";
import { after } from "./time.js";
import { Worker } from "./worker.js";
import type { WorkerProfile } from "./worker-events.js";
import { freeQuota, hostOf, takeQuota, workerQuotaRefusal } from "./worker-quota.js";
import { viewWorker } from "./worker-view.js";
import type { Yard } from "./yard.js";

type Joined = Extract<YardEvent, { type: "worker-joined" }>;
type Beat = Extract<YardEvent, { type: "worker-beat" }>;
type Retired = Extract<YardEvent, { type: "worker-retired" }>;

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

/** Stops assigning to a worker. Its door is told when it no longer holds anything. */
export function drainWorker(yard: Yard, worker: Worker): void {
  if (worker.isDraining) return;
  if (worker.isOfferless) worker.countOfferless(-1);
  worker.isDraining = true;
  for (const queue of worker.queues) queue.pools.of(worker.door.name).draining += 1;
  for (const offer of worker.offers.filter((candidate) => candidate.claim !== undefined))
    endUnserved(yard, offer);
  reposition(yard, worker);
  for (const queue of worker.queues) endAvoiding(yard, queue);
  if (worker.held === 0)
    yard.step.effects.push({ type: "drained", door: worker.door.name, worker: worker.id });
}
