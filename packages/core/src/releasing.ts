// How a lease leaves its worker: released because the attempt ended, or revoked from our side.

import type { RevokeReason } from "./effects.js";
import { beginNext } from "./holding.js";
import type { Lease } from "./lease.js";
import { serve } from "./matching.js";
import { reposition } from "./offers.js";
import { endReports } from "./reports.js";
import type { Yard } from "./yard.js";

/**
 * Revokes a lease whose worker has not answered. A worker with slots keeps this slot taken until it
 * answers or reconnects. A pulling worker has no slots: it is only told to stop, until its lease
 * would have expired.
 */
export function revoke(yard: Yard, lease: Lease, reason: RevokeReason): void {
  const { worker } = lease;
  yard.disarm(lease.deadline);
  endReports(yard, lease);
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
    freeSlot(yard, lease);
    return;
  }
  lease.isRevoked = true;
  worker.revoked += 1;
  yard.revoked.set(lease.attempt, lease);
  if (worker.profile.pulls && lease.leaseUntil !== undefined) {
    lease.deadline = yard.armed(lease.deadline, { type: "lease", lease }, lease.leaseUntil);
  }
}

/**
 * Removes a lease from its worker without looking for new work. Call `serveFreed` once the task is
 * where it belongs.
 */
export function release(yard: Yard, lease: Lease): void {
  yard.disarm(lease.deadline);
  endReports(yard, lease);
  const { worker } = lease;
  if (worker === undefined) return;
  worker.removeLease(lease);
  if (worker.isGone) return;
  beginNext(yard, worker);
  reposition(yard, worker);
}

export function freeSlot(yard: Yard, lease: Lease): void {
  release(yard, lease);
  serveFreed(yard, lease);
}

export function serveFreed(yard: Yard, lease: Lease): void {
  const { worker } = lease;
  if (worker === undefined || worker.isGone) return;
  if (worker.isDraining && worker.held === 0) {
    yard.step.effects.push({ type: "drained", door: worker.door.name, worker: worker.id });
  }
  serve(yard, worker);
}
