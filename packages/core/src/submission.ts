// What a client submits: one task, or a task as a part of a graph.

import type { TaskId } from "./names.js";
import type { Body, FinishedStateName, IfFailed, ReplyTo } from "./records.js";
import type { WallTime } from "./time.js";

export interface Submission {
  readonly queue: string;
  /** The client's host, at doors whose clients may name new queues. Those are counted by host. */
  readonly host?: string | undefined;
  readonly payload: Body;
  /** Higher runs first. The default is 0. */
  readonly priority?: number;
  readonly delayMs?: number;
  readonly expiresAt?: WallTime;
  /** Maximum time in `waiting`, counted anew each time the task enters it, backoff excluded. */
  readonly waitingMsMax?: number;
  readonly attemptTimeoutMs?: number;
  readonly attempts?: number;
  readonly failures?: number;
  /** The group with which it takes turns in its queue. */
  readonly group?: string;
  readonly key?: string;
  readonly fingerprint?: string;
  readonly replyTo?: ReplyTo;
  readonly envelope?: Uint8Array;
  /** Tasks that must end before it may start, each once. */
  readonly after?: readonly TaskId[];
  /** What happens to this task if one of those does not end `done`. Default: cancel. */
  readonly ifFailed?: IfFailed;
  /** The outcomes of those of `after` that the core no longer holds, as the door read them. */
  readonly pastOutcomes?: readonly PastOutcome[];
  readonly schedule?: string;
  readonly retryOf?: TaskId;
  /** Name of the principal that submits it, for the task's story. */
  readonly by?: string | undefined;
  /**
   * True if the client never repeats a refused submission. Such a task is accepted even while the
   * dispatcher is stopping, and runs after the next start.
   */
  readonly isAskedOnce?: boolean;
}

export interface PastOutcome {
  readonly task: TaskId;
  readonly state: FinishedStateName;
}

/** One task of a graph. */
export interface GraphItem {
  readonly submission: Submission;
  /** Indexes of the items that must end before it may start, besides `submission.after`. */
  readonly afterItems: readonly number[];
}
