// The links between a live task and the tasks that it depends on.

import type { FinishedStateName } from "./records.js";
import type { Task } from "./task.js";
import { isFinished } from "./task-states.js";
import type { Yard } from "./yard.js";

/** A live task's links to the tasks that it waits for, and to those that wait for it. */
export interface Bonds {
  /** Number of its dependencies that have not ended. */
  unfinished: number;
  /** The first dependency that ended badly, unless the task is to run in spite of that. */
  failed: FailedDependency | undefined;
  /** The tasks that depend on it and have not ended. */
  readonly dependents: Set<Task>;
  /** True while dependents that it blocked are on the list of work. */
  isReleasing: boolean;
}

export interface FailedDependency {
  readonly id: number;
  readonly state: FinishedStateName;
}

/** A finished task, and those of its dependents that have not heard of it yet. */
export interface Release {
  readonly task: Task;
  readonly id: number;
  readonly state: FinishedStateName;
  readonly dependents: readonly Task[];
  next: number;
}

export function bondsOf(task: Task): Bonds {
  task.bonds ??= { unfinished: 0, failed: undefined, dependents: new Set(), isReleasing: false };
  return task.bonds;
}

/** The state in which a task ended; undefined if it has not ended. */
export function endOf({ state }: Task): FinishedStateName | undefined {
  return isFinished(state) ? (state as FinishedStateName) : undefined;
}

/** The dependencies of a blocked task that have not ended. */
export function unfinishedDependencies(yard: Yard, task: Task): number[] {
  return (task.head.relations?.after ?? []).filter((id) => {
    const dependency = yard.tasks.get(id);
    return dependency !== undefined && endOf(dependency) === undefined;
  });
}
