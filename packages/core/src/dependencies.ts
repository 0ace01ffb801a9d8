// Tasks that wait for other tasks. A dependent counts its unfinished dependencies and is `blocked`
// until the last has ended. A task that others depend on knows those dependents, and stays
// unsettled (`depended`) until they have ended too, so that they can read its result.
//
// A finished task puts its dependents on a list of work. The list is worked off at the end of the
// event, never inside `finish`: a chain of any length takes no stack, and a step is bounded.

import { bondsOf, endOf, type FailedDependency, type Release } from "./bonds.js";
import { finish } from "./finishing.js";
import type { TaskId } from "./names.js";
import { makeBlocked, makeReady, makeSleep } from "./placing.js";
import type { FinishedStateName, TaskHead } from "./records.js";
import type { Task } from "./task.js";
import { tellStory } from "./task-states.js";
import { after } from "./time.js";
import type { Yard } from "./yard.js";

/**
 * Dependents handled in one step. A step of this size takes a few milliseconds, even if each of
 * them is cancelled.
 */
const releasesPerStep = 1000;

/** Time until the next step: as short as possible, but not within the current one. */
const nextStepMs = 1;

/**
 * Ties a waiting task to its dependencies. `past`: the outcomes of dependencies that have left the
 * core. One that is missing there let the task run, because otherwise the task would have been
 * cancelled.
 */
export function bind(
  yard: Yard,
  task: Task,
  past: (id: number) => FinishedStateName | undefined = () => undefined,
): void {
  const { relations } = task.head;
  if (relations === undefined || relations.after.length === 0) return;
  const bonds = bondsOf(task);
  for (const id of relations.after) {
    const dependency = yard.tasks.get(id);
    const state = dependency === undefined ? past(id) : endOf(dependency);
    if (dependency !== undefined && state === undefined) bonds.unfinished += 1;
    else if (state !== undefined && state !== "done" && relations.ifFailed === "cancel")
      bonds.failed ??= { id, state };
    if (dependency !== undefined && isHeldBack(dependency)) bondsOf(dependency).dependents.add(task);
  }
}

/** True unless it has entered history: from there it can be evicted, whatever depends on it. */
function isHeldBack({ ending }: Task): boolean {
  return ending === undefined || ending.settled === 0;
}

/** Places a task that was bound: cancelled, blocked, or undefined if it may run. */
export function block(yard: Yard, task: Task): "cancelled" | "blocked" | undefined {
  const { bonds } = task;
  if (bonds === undefined) return undefined;
  if (bonds.failed !== undefined) {
    cancelDependent(yard, task, bonds.failed);
    return "cancelled";
  }
  if (bonds.unfinished === 0) return undefined;
  makeBlocked(yard, task);
  return "blocked";
}

function cancelDependent(yard: Yard, task: Task, { id, state }: FailedDependency): void {
  finish(yard, task, "cancelled", `cancelled: task ${id} ended ${state}`, {
    error: { code: dependencyFailed, message: dependencyFailedMessage(id, state) },
  });
}

/** The error code of a task that was cancelled because of a dependency. */
export const dependencyFailed = "dependency_failed";

/**
 * Begins with the dependency, so that a search by prefix finds the tasks cancelled because of it.
 */
export function dependencyFailedMessage(id: number, state: string): string {
  return `${dependencyFailedPrefix(id)} ${state}, and this task depends on it.`;
}

export function dependencyFailedPrefix(id: number): string {
  return `Task ${id} ended`;
}

/** The dependency that such a message names. */
export function dependencyIn(message: string): TaskId | undefined {
  const [, id] = /^Task (\d{1,16}) ended /.exec(message) ?? [];
  return id === undefined ? undefined : (Number(id) as TaskId);
}

/** Works off the list, up to the bound of one step. */
export function releaseDependents(yard: Yard): void {
  let left = releasesPerStep;
  for (let release = yard.releases.first(); release !== undefined; release = yard.releases.first()) {
    while (left > 0 && release.next < release.dependents.length) {
      left -= 1;
      releaseOne(yard, release.dependents[release.next++] as Task, release);
    }
    if (release.next < release.dependents.length) {
      yard.deadlines.arm(yard.releaseDeadline, after(yard.now.instant, nextStepMs));
      return;
    }
    yard.releases.shift();
    if (release.task.bonds !== undefined) release.task.bonds.isReleasing = false;
  }
}

/** A dependency has ended. A dependent that has ended meanwhile, or runs, is left alone. */
function releaseOne(yard: Yard, task: Task, { id, state }: Release): void {
  const { bonds } = task;
  if (task.place !== "blocked" || bonds === undefined) return;
  if (state !== "done" && task.head.relations?.ifFailed === "cancel") {
    cancelDependent(yard, task, { id, state });
    return;
  }
  bonds.unfinished -= 1;
  if (bonds.unfinished > 0) return;
  tellStory(yard, task, `unblocked: task ${id} ended ${state}`);
  const delayMs = remainingDelayMs(yard, task.head);
  if (delayMs > 0) makeSleep(yard, task, "delayed", delayMs);
  else makeReady(yard, task, "last");
}

/**
 * What is left of the delay that the client asked for. At most the delay itself: the wall clock may
 * have been set back.
 */
export function remainingDelayMs(yard: Yard, { notBefore, submittedAt }: TaskHead): number {
  return Math.min(notBefore - yard.now.wall, notBefore - submittedAt);
}
