// A task's place: the one list it is in, if any. Placing and finishing both move tasks between
// places; the queue's counts are kept here.

import { laneOf } from "./ready-queue.js";
import type { Task, TaskPlace } from "./task.js";
import { isFinished } from "./task-states.js";
import type { Yard } from "./yard.js";

/** Takes a waiting task out of its place, to be leased or finished. */
export function unplace(yard: Yard, task: Task, to: TaskPlace): void {
  yard.disarm(task.wake);
  yard.disarm(task.expiry);
  task.notBefore = 0;
  laneOf(task)?.leave(task, to === "leased");
  setPlace(yard, task, to);
}

export function setPlace(yard: Yard, task: Task, place: TaskPlace): void {
  const { queue } = task;
  // Kept small, so that it is inlined: every task comes through here several times.
  if (queue.limitsRunning || task.group !== undefined || yard.recovering.size > 0 || place === "recovering") {
    setCountedPlace(yard, task, place);
    return;
  }
  queue.count(task.place, -1);
  task.place = place;
  queue.count(place, 1);
}

function setCountedPlace(yard: Yard, task: Task, place: TaskPlace): void {
  const { queue, place: from } = task;
  if (from === "recovering") yard.recovering.delete(task);
  queue.count(from, -1);
  task.place = place;
  queue.count(place, 1);
  if (place === "recovering") yard.recovering.add(task);
  if (queue.limitsRunning || task.group !== undefined) countActive(yard, task, from);
}

/**
 * True if the task counts against the limits on running tasks. A recovering one does, because its
 * worker may still run it.
 */
function isActive(place: TaskPlace): boolean {
  return place === "leased" || place === "recovering";
}

/** Counts it into or out of its group. The queue may be below a limit again afterwards. */
function countActive(yard: Yard, task: Task, from: TaskPlace): void {
  const { queue, group } = task;
  const wasActive = isActive(from);
  if (wasActive !== isActive(task.place)) {
    if (group !== undefined) queue.groups.countActive(group, wasActive ? -1 : 1);
    if (wasActive && queue.limitsRunning) yard.freed.push(queue);
  }
  if (group === undefined || !isFinished(task.state)) return;
  task.group = undefined;
  queue.groups.leave(group);
}

/** Counts a task into or out of its queue's waiting tasks. */
export function countWaiting(task: Task, by: 1 | -1): void {
  task.queue.waiting += by;
  task.queue.waitingBytes += by * task.head.payload.size;
}
