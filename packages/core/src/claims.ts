// Claims: a pulling worker's requests for tasks of one queue. Each is answered once: with tasks, or
// that there is no work.

import { refuseQueue } from "./admission.js";
import type { Claim, DoorState } from "./door-state.js";
import type { YardEvent } from "./events.js";
import { serve } from "./matching.js";
import { dropClaim, reposition } from "./offers.js";
import { joinQueue } from "./serving.js";
import { after } from "./time.js";
import { Offer, type Worker } from "./worker.js";
import type { Yard } from "./yard.js";

type WorkClaimed = Extract<YardEvent, { type: "work-claimed" }>;

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
  const offer = new Offer(worker, queue, queue.pools.of(door.name), claim);
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
