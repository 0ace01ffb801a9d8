// When a waiting task expires, and how it ends then.

import { finish } from "./finishing.js";
import type { Task } from "./task.js";
import { after, type Instant } from "./time.js";
import { whyWaiting } from "./why.js";
import type { Yard } from "./yard.js";

/**
 * Arms the earlier of the two expiries. The maximum wait is counted anew each time the task becomes
 * ready, because it could not have been assigned while delayed or in backoff. Only a returned task
 * continues its earlier wait.
 */
export function armExpiry(yard: Yard, task: Task, waitUntil?: Instant): void {
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
export function isPast(yard: Yard, task: Task): boolean {
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
