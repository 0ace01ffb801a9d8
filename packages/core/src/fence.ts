// Which lease a worker's message is about. A message from a worker that does not hold the lease is
// refused, counted and kept in the task's story.

import type { AttemptEvent, AttemptRef } from "./attempt-events.js";
import type { DoorState } from "./door-state.js";
import type { Lease } from "./lease.js";
import { freeSlot } from "./releasing.js";
import type { Task } from "./task.js";
import { tellStory } from "./task-states.js";
import type { Worker } from "./worker.js";
import type { Yard } from "./yard.js";

/**
 * Finds the revoked lease that a message is about: without an attempt number, the worker's oldest
 * lease of that task.
 */
export function revokedLease(yard: Yard, worker: Worker | undefined, event: AttemptRef): Lease | undefined {
  if (worker === undefined || worker.revoked === 0) return undefined;
  if (event.attempt !== undefined) {
    const lease = yard.revoked.get(event.attempt);
    return lease?.worker === worker ? lease : undefined;
  }
  let lease = worker.oldest;
  while (lease !== undefined && !(lease.isRevoked && lease.task.head.id === event.task)) lease = lease.newer;
  return lease;
}

/**
 * True if this attempt holds its task. The door has its answer, and posts it once the result is
 * stored. Until then neither the lease nor the time limit may end the attempt.
 */
export function expectAnswer(yard: Yard, event: AttemptRef): boolean {
  const task = yard.tasks.get(event.task);
  const isRefused = revokedLease(yard, yard.workers.get(event.worker), event) !== undefined;
  const lease = task === undefined || isRefused ? undefined : currentLease(task, event);
  if (lease === undefined) return false;
  lease.hasAnswered = true;
  yard.disarm(lease.deadline);
  return true;
}

export function currentLease(task: Task, event: AttemptRef): Lease | undefined {
  const { lease } = task;
  if (task.state !== "running" || lease === undefined || lease.workerId !== event.worker) return undefined;
  if (event.isOfBefore === true) return undefined;
  return event.attempt === undefined || event.attempt === lease.attempt ? lease : undefined;
}

/** Refuses a message about an attempt that does not hold its task. */
export function refuse(
  yard: Yard,
  door: DoorState,
  task: Task | undefined,
  event: AttemptEvent,
  revoked: Lease | undefined,
): void {
  if (event.type === "attempt-beat") {
    // A beat is not an answer: the worker is told to stop, and its slot stays taken.
    if (revoked !== undefined) yard.reply(door, event.request, { type: "beat", leaseMs: 0, cancel: true });
    else refuseStale(yard, door, task, event);
    return;
  }
  // A task that was returned untried is not a late answer.
  if (revoked !== undefined && event.type === "attempt-returned")
    yard.reply(door, event.request, { type: "granted", task: event.task });
  else refuseStale(yard, door, task, event);
  if (revoked !== undefined) {
    yard.revoked.delete(revoked.attempt);
    freeSlot(yard, revoked);
  }
}

function refuseStale(yard: Yard, door: DoorState, task: Task | undefined, event: AttemptEvent): void {
  yard.counters.staleResults.add(door.name);
  const what = event.type.slice("attempt-".length);
  if (task !== undefined && event.type !== "attempt-beat" && !isRepeated(task, event, what)) {
    tellStory(yard, task, `late: ${what} refused`, { attempt: event.attempt, workerId: event.worker });
  }
  yard.reply(door, event.request, {
    type: "refused",
    code: task === undefined ? "not_found" : "stale_attempt",
    message: `This attempt does not hold the task (any more), so its ${what} does not count.`,
    task: event.task,
  });
}

/** True if the message only repeats what this attempt said before. */
function isRepeated(task: Task, event: AttemptRef, what: string): boolean {
  if (hasEnded(task, event)) return true;
  if (event.attempt === undefined || task.story === undefined) return false;
  return task.story.some(({ attempt, worker, cause }) => {
    return attempt === event.attempt && worker === event.worker && cause.startsWith(`${what}: `);
  });
}

/** True if this attempt's own answer ended the task. */
function hasEnded(task: Task, event: AttemptRef): boolean {
  const { lease, state } = task;
  if (lease?.workerId !== event.worker || (event.attempt ?? lease.attempt) !== lease.attempt) return false;
  return state === "done" || (state === "failed" && task.losses < task.head.policy.attempts);
}
