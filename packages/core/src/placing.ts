// Where a waiting task is kept: ready for a worker, asleep, or blocked by other tasks.

import { armExpiry, expire, isPast } from "./expiry.js";
import { assign, serveQueue } from "./matching.js";
import type { Queue } from "./queue.js";
import type { Task } from "./task.js";
import { setPlace } from "./task-place.js";
import { after, type Instant, later } from "./time.js";
import type { Worker } from "./worker.js";
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

/** Maximum number of workers that a task avoids. Larger than the default number of attempts. */
const avoidsMax = 8;

/** Makes the task avoid a worker that failed it. */
export function avoid(task: Task, worker: Worker): void {
  const avoids = task.avoids?.filter((other) => other !== worker && !other.isGone) ?? [];
  task.avoids = [...avoids.slice(-avoidsMax + 1), worker];
}
