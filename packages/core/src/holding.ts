// The attempts that a worker holds: which of them it can be running, and when their leases and time
// limits end.

import type { Lease } from "./lease.js";
import { reposition } from "./offers.js";
import { after, earlier } from "./time.js";
import type { Worker } from "./worker.js";
import type { Yard } from "./yard.js";

/** Gives the worker the lease, and begins as many attempts as it runs at once. */
export function holdLease(yard: Yard, worker: Worker, lease: Lease): void {
  worker.addLease(lease);
  beginNext(yard, worker);
  armLease(yard, lease);
  reposition(yard, worker);
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
  const at = earlier(leaseUntil, limitAt);
  if (at !== undefined) lease.deadline = yard.armed(lease.deadline, { type: "lease", lease }, at);
}
