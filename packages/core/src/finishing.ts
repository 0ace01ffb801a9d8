// How a task ends: once, with one outcome. The outcome is then delivered to the client, or the task
// is settled at once if nobody is to be told.

import type { Bonds } from "./bonds.js";
import { ageKey } from "./key-ageing.js";
import type { Lease } from "./lease.js";
import type { Body, FinishedStateName, TaskError } from "./records.js";
import { isDependedOn, settle, settleDepended } from "./settling.js";
import type { Task } from "./task.js";
import { countWaiting, unplace } from "./task-place.js";
import { moveTask } from "./task-states.js";
import { beginTelling } from "./telling.js";
import { after } from "./time.js";
import { answerWatches } from "./watches.js";
import type { Yard } from "./yard.js";

/**
 * Larger results may lie only in the engine, where they are evicted together with their segment of
 * history. So a task with a larger result enters history only after its delivery.
 */
const aheadBytesMax = 4096;

interface Finish {
  readonly result?: Body;
  readonly error?: TaskError;
  /** The attempt that ended the task, for the story. */
  readonly by?: Lease | undefined;
}

/** Ends a waiting task, or one whose lease was just released. Every task ends here. */
export function finish(yard: Yard, task: Task, state: FinishedStateName, cause: string, how: Finish): void {
  const running = task.state === "running" ? task.lease : undefined;
  if (task.state === "waiting") countWaiting(task, -1);
  else task.queue.running -= 1;
  moveTask(yard, task, state, cause, how.by);
  task.ending = {
    state,
    finishedAt: yard.now.wall,
    tellUntil: after(yard.now.instant, yard.options.replyTtlMs),
    result: how.result,
    error: how.error,
    // Recorded in advance, with the outcome, because delivery follows the commit at once. A failed
    // delivery is the exception, and is corrected.
    told:
      task.head.replyTo?.diesWithConnection === true &&
      (how.result?.size ?? 0) <= aheadBytesMax &&
      !isDependedOn(task),
    settled: 0,
    tellings: 0,
  };
  unplace(yard, task, "telling");
  yard.counters.outcomes.add(task.queue.label, state);
  task.queue.tally.finish(state, running?.worker?.door.name, yard.now.instant);
  yard.observer?.finished(task, task.ending, running, yard.now);
  ageKey(yard, task);
  answerWatches(yard, task);
  if (task.bonds !== undefined) endBonds(yard, task, task.bonds);
  if (task.head.replyTo === undefined) settle(yard, task);
  else beginTelling(yard, task);
}

/**
 * Settles the dependencies whose last dependent has ended with this task, and puts its own
 * dependents on the list of work.
 */
function endBonds(yard: Yard, task: Task, bonds: Bonds): void {
  for (const id of task.head.relations?.after ?? []) {
    const dependency = yard.tasks.get(id);
    const dependents = dependency?.bonds?.dependents;
    if (dependency === undefined || dependents?.delete(task) !== true || dependents.size > 0) continue;
    settleDepended(yard, dependency);
  }
  if (bonds.dependents.size === 0) return;
  bonds.isReleasing = true;
  const state = task.state as FinishedStateName;
  yard.releases.push({ task, id: task.head.id, state, dependents: [...bonds.dependents], next: 0 });
}
