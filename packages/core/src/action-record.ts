// A bulk action: its committed record, and the work of one of its steps.

import type { TaskId } from "./names.js";
import type { TaskStateName } from "./records.js";
import type { GraphItem, PastOutcome, Submission } from "./submission.js";
import type { WallTime } from "./time.js";

/**
 * A bulk action: cancel, retry or purge many tasks. Its record is a memo of the door that runs it,
 * as JSON.
 */
export interface ActionRecord {
  readonly id: string;
  readonly kind: "cancel" | "retry" | "purge";
  /** Address of the client that asked for it. */
  readonly by: string;
  readonly startedAt: WallTime;
  readonly endedAt?: WallTime;
  readonly state: "running" | "done" | "stopped";
  /** The filter, in the door's own terms. */
  readonly filter: Readonly<Record<string, string | number>>;
  /** The last task that was accepted when it began; later ones are not touched. Set by the core. */
  readonly upTo?: number;
  /** Its position: which of the door's walks over the tasks it is in, and the id to go on below. */
  readonly walk: number;
  readonly below?: number;
  /** Tasks found so far: the sum of the two below. */
  readonly matched: number;
  readonly done: number;
  readonly refused: number;
  /** Why the last of the refused tasks was refused. */
  readonly lastRefusal?: string | undefined;
}

/** The name of the memo that holds an action's record. */
export function actionMemoName(id: string): string {
  return `${actionMemoPrefix}${id}`;
}

export const actionMemoPrefix = "action/";
/** The tasks of one step of a bulk action. The door bounds their number. */
export type ActionWork =
  /** `state`: only those that are still in this state. */
  | { readonly type: "cancel"; readonly tasks: readonly TaskId[]; readonly state?: TaskStateName }
  /** The next `max` ready tasks of a queue. */
  | { readonly type: "purge"; readonly queue: string; readonly max: number }
  | { readonly type: "submit"; readonly submissions: readonly Submission[] }
  /** All of them, or none. */
  | {
      readonly type: "submit-graph";
      readonly items: readonly GraphItem[];
      readonly pastOutcomes: readonly PastOutcome[];
    };
