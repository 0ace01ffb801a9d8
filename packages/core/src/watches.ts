// Requests that wait for a task's outcome. Each is answered once: with the outcome, or without one
// when its time is over.

import type { DoorState, Watch } from "./door-state.js";
import type { Outcome } from "./effects.js";
import type { YardEvent } from "./events.js";
import type { Task, TaskEnding } from "./task.js";
import { isFinished } from "./task-states.js";
import { after } from "./time.js";
import type { Yard } from "./yard.js";

type Watched = Extract<YardEvent, { type: "task-watched" }>;

/** Waits for a task's outcome. A task that is not live is already finished, if it ever existed. */
export function handleWatched(yard: Yard, door: DoorState, event: Watched): void {
  const task = yard.tasks.get(event.task);
  const watch: Watch = { door, request: event.request, task: event.task, deadline: undefined };
  if (task === undefined || isFinished(task.state)) {
    endWatch(yard, watch, true);
    return;
  }
  if (event.forMs <= 0 || door.watches.size >= yard.options.limits.waitingRequests) {
    if (event.forMs > 0) yard.limitReached("waitingRequests");
    endWatch(yard, watch, false);
    return;
  }
  watch.deadline = yard.armed(undefined, { type: "watch", watch }, after(yard.now.instant, event.forMs));
  door.watches.set(event.request, watch);
  const watches = yard.watches.get(event.task) ?? new Set<Watch>();
  yard.watches.set(event.task, watches.add(watch));
}

export function answerWatches(yard: Yard, task: Task): void {
  const watches = yard.watches.get(task.head.id);
  if (watches === undefined) return;
  const { state, result, error } = task.ending as TaskEnding;
  const outcome: Outcome = { state, result, error };
  for (const watch of [...watches]) endWatch(yard, watch, true, outcome);
}

/** Answers a request that waited for the outcome. */
export function endWatch(yard: Yard, watch: Watch, finished: boolean, outcome?: Outcome): void {
  dropWatch(yard, watch);
  const { task } = watch;
  yard.reply(watch.door, watch.request, { type: "watched", task, finished, ...(outcome && { outcome }) });
}

export function dropWatch(yard: Yard, watch: Watch): void {
  yard.disarm(watch.deadline);
  watch.door.watches.delete(watch.request);
  const watches = yard.watches.get(watch.task);
  watches?.delete(watch);
  if (watches?.size === 0) yard.watches.delete(watch.task);
}
