// Which tasks a bulk action looks at, and in which order. A walk is one query, by falling id. An
// action makes several when its tasks may be in several states.

import type { ActionRecord, StoredTask, TaskId, TaskStateName } from "@yardmaster/core";
import { cursorBelow, isAskedFor, type TaskQuery } from "@yardmaster/engines";

/** The filter of `GET /v1/tasks` as the engine understands it. */
export type TaskFilter = Omit<TaskQuery, "limit" | "cursor">;

/** `ready`: the core takes the tasks from the head of the queue, without a query. */
export type Walk = { readonly type: "ready"; readonly queue: string } | FoundWalk;

export interface FoundWalk {
  readonly type: "found";
  readonly query: TaskFilter & { readonly state: TaskStateName };
}

/**
 * A task that runs may be lost and wait again after the walk over waiting tasks has passed it. So
 * an action that cancels both looks at waiting tasks twice.
 */
const cancelStates = ["waiting", "running", "waiting"] as const;

/** Tasks in these states can be retried. They never leave them, so each is found once. */
export const retryStates = ["failed", "cancelled", "expired"] as const;

export function walksOf({ kind, filter }: ActionRecord): readonly Walk[] {
  const query = filter as TaskFilter;
  if (kind === "purge") {
    const queue = query.queue ?? "";
    return [
      { type: "ready", queue },
      { type: "found", query: { queue, state: "waiting" } },
    ];
  }
  const states = query.state !== undefined ? [query.state] : kind === "cancel" ? cancelStates : retryStates;
  return states.map((state) => ({ type: "found", query: { ...query, state } }));
}

/**
 * The query for the next page of a walk. Tasks that were submitted after the action began have
 * higher ids and are not found.
 */
export function pageOf({ query }: FoundWalk, { below, upTo = 0 }: ActionRecord, limit: number): TaskQuery {
  const whole = { ...query, limit };
  return { ...whole, cursor: cursorBelow((below ?? upTo + 1) as TaskId, whole) };
}

/** True if a retry will come, or has come, to this task by itself. */
export function isRetriedBy({ filter, upTo = 0 }: ActionRecord, { head, progress }: StoredTask): boolean {
  const state = progress?.state ?? "waiting";
  if (head.id > upTo || !retryStates.some((each) => each === state)) return false;
  return isAskedFor({ ...(filter as TaskFilter), limit: 1 }, head, progress);
}
