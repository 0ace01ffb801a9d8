// Bulk actions and counts of a dispatcher. Only the http door has them.

import type { TaskQuery } from "./task.js";

/** A bulk action as the dispatcher shows it. Times are RFC 3339. */
export interface Action {
  readonly id: string;
  readonly kind: "cancel" | "retry" | "purge";
  /** `stopped`: it was ended by `stopAction` before it had seen all tasks. */
  readonly state: "running" | "done" | "stopped";
  readonly filter: Readonly<Record<string, string>>;
  /** Address of the client that asked for it. */
  readonly by: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
  /** Tasks found so far: the sum of `done` and `refused`. */
  readonly matched: number;
  readonly done: number;
  /** Tasks that had finished or changed their state meanwhile, or that found no room. */
  readonly refused: number;
  /** Why the last of them was refused. */
  readonly lastRefusal: string | null;
}

/** Number of tasks that match a filter. */
export interface TaskCount {
  readonly count: number;
  /** True if more tasks match than were counted. */
  readonly isMore: boolean;
  /** The 20 queues with the most matches; the others together as `(other)`. */
  readonly byQueue: Readonly<Record<string, number>>;
  /** Counts over the time of submission, by queue. Present if `buckets` was given. */
  readonly histogram?: {
    readonly from: string;
    readonly stepMs: number;
    readonly queues: Readonly<Record<string, readonly number[]>>;
  };
}

/** What `count` is to count. */
export interface CountOptions {
  /** Number of steps of the histogram, 1 to 240; no histogram if absent. */
  readonly buckets?: number;
}

/** How to wait for a bulk action. */
export interface ActionOptions {
  /** Ends the wait, not the action. */
  readonly signal?: AbortSignal;
  /** Called after each check of the action, including the last one. */
  readonly onProgress?: (action: Action) => void;
}

/** A filter for tasks that can be cancelled. */
export type CancelFilter = Omit<TaskQuery, "state"> & { readonly state?: "waiting" | "running" };

/** A filter for tasks that can be retried. */
export type RetryFilter = Omit<TaskQuery, "state"> & {
  readonly state?: "failed" | "cancelled" | "expired";
};
