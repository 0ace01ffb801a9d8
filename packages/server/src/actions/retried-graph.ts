// Retrying tasks that depend on each other. A task that was cancelled because another one failed is
// retried together with that one, as a graph, so that the new tasks depend on each other as the old
// ones did.

import {
  dependencyFailed,
  dependencyFailedPrefix,
  dependencyIn,
  type GraphItem,
  type PastOutcome,
  type StoredTask,
  type Submission,
  type TaskId,
} from "@yardmaster/core";
import type { Reads } from "../door-kit/door.js";

type HistoryReads = Pick<Reads, "find" | "task">;

/**
 * The tasks that were cancelled because this one ended. Found by their error's message, which names
 * it.
 */
export async function* cancelledBecauseOf(reads: HistoryReads, id: TaskId): AsyncGenerator<StoredTask> {
  let cursor: string | undefined;
  const messagePrefix = dependencyFailedPrefix(id);
  do {
    const page = await reads.find({ messagePrefix, limit: 1000, ...(cursor !== undefined && { cursor }) });
    for (const task of page.items) if (causeOf(task) === id) yield task;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** The task whose end cancelled this one. */
export function causeOf({ progress }: StoredTask): TaskId | undefined {
  const { code, message = "" } = progress?.error ?? {};
  return code === dependencyFailed ? dependencyIn(message) : undefined;
}

/**
 * True if any task was cancelled because of another. Otherwise no retry has to look for dependents.
 */
export async function hasCancelledDependents(reads: HistoryReads): Promise<boolean> {
  return (await reads.find({ text: dependencyFailed, limit: 1 })).items.length > 0;
}

export interface RetriedTask {
  readonly task: StoredTask;
  readonly submission: Submission;
}

/** A graph that retries these tasks: dependencies among them point to the new tasks. */
export function retriedGraph(tasks: readonly RetriedTask[]): {
  readonly items: GraphItem[];
  readonly pastOutcomes: PastOutcome[];
} {
  const indexes = new Map(tasks.map(({ task }, index) => [task.head.id, index]));
  const items = tasks.map(({ task, submission }) => ({
    submission,
    afterItems: (task.head.relations?.after ?? []).flatMap((id) => indexes.get(id) ?? []),
  }));
  return { items, pastOutcomes: tasks.flatMap(({ submission }) => submission.pastOutcomes ?? []) };
}

/**
 * A retried task should run, so it keeps only those dependencies that ended done, whose results it
 * can read.
 */
export async function doneDependencies(
  reads: HistoryReads,
  { head }: StoredTask,
): Promise<readonly TaskId[]> {
  const done: TaskId[] = [];
  for (const id of head.relations?.after ?? [])
    if ((await reads.task(id))?.progress?.state === "done") done.push(id);
  return done;
}
