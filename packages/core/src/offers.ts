// Where workers' offers are kept in the pools of their queues: by load, while they have a free
// slot.

import type { LoadEntry } from "./load-order.js";
import { UrgencyEntry } from "./urgency-order.js";
import type { Offer, Worker } from "./worker.js";
import type { Yard } from "./yard.js";

export function dropClaim(yard: Yard, offer: Offer): void {
  const { claim, worker } = offer;
  if (claim === undefined) return;
  claim.door.claims.delete(claim.request);
  yard.disarm(claim.deadline);
  withdraw(offer);
  worker.offers.splice(worker.offers.indexOf(offer), 1);
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
