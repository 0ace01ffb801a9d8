// A worker as people see it.

import type { LossReason } from "./attempt-events.js";
import type { WorkerView } from "./views.js";
import type { Worker } from "./worker.js";
import type { Yard } from "./yard.js";

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
