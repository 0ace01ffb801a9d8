// Committed state: keyed records of bounded size, and the changes that put or delete them. A change
// is absolute: applying it twice has the effect of applying it once, and replay in order needs
// neither clock nor randomness. A task is two records: its head, written once when it is accepted,
// and its progress, written at every transition.

import type { AttemptNumber, TaskId, WorkerId } from "./names.js";
import type { WallTime } from "./time.js";

/** A payload or result. The core carries its bytes but never reads them. */
export interface Body {
  readonly mediaType: string;
  readonly size: number;
  /** Absent if the bytes are only in the engine. */
  readonly bytes?: Uint8Array;
  /** A result's ids in the dialect of its worker, for the door that reads them. Small. */
  readonly envelope?: Uint8Array;
}

/** Where an outcome is delivered. The address belongs to the door; the core only returns it. */
export interface ReplyTo {
  readonly address: string;
  /**
   * True when the reply address is a connection: once it closes, the outcome can no longer be
   * delivered.
   */
  readonly diesWithConnection: boolean;
}

/** The retry settings of a task. Tasks with the same settings share one object. */
export interface TaskPolicy {
  /** Number of lost attempts after which the task ends `failed` as poison. */
  readonly attempts: number;
  /** Number of reported failures after which the task ends `failed`. */
  readonly failures: number;
  /** Time limit of one attempt; 0 means none. */
  readonly attemptTimeoutMs: number;
  /**
   * Maximum time in `waiting`, counted anew each time the task enters it, backoff excluded; 0 means
   * unlimited.
   */
  readonly waitingMsMax: number;
}

/** What happens to a dependent when a task that it waits for does not end `done`. */
export type IfFailed = "cancel" | "run";

/**
 * A task's relations to other tasks, to a group, to a schedule or to a principal. A task without
 * any has no such object.
 */
export interface TaskRelations {
  /** The tasks that must end before this one may start, each once, in the order given. */
  readonly after: readonly TaskId[];
  readonly ifFailed: IfFailed;
  /** The group with which it takes turns in its queue; undefined: the group of all the others. */
  readonly group: string | undefined;
  /** Name of the schedule that submitted it. */
  readonly schedule: string | undefined;
  /** The finished task that this one repeats. */
  readonly retryOf: TaskId | undefined;
  /** Name of the principal that submitted it; absent where the door does not know one. */
  readonly by?: string | undefined;
}

/** The part of a task that never changes. */
export interface TaskHead {
  readonly id: TaskId;
  readonly queue: string;
  /** Higher runs first. */
  readonly priority: number;
  /** The door through which it was submitted. */
  readonly door: string;
  readonly submittedAt: WallTime;
  readonly payload: Body;
  readonly policy: TaskPolicy;
  /**
   * Idempotency key, unique within the queue while the task is live and for `keyTtlMs` after that.
   */
  readonly key: string | undefined;
  /**
   * The door's digest of the payload. It tells a repeated submission from a key used for another
   * task.
   */
  readonly fingerprint: string | undefined;
  readonly replyTo: ReplyTo | undefined;
  /** The dialect's own additions to the payload, needed to answer in the same form. */
  readonly envelope: Uint8Array | undefined;
  /** Earliest start; 0 means at once. */
  readonly notBefore: WallTime | 0;
  /** Latest start; 0 means unlimited. */
  readonly expiresAt: WallTime | 0;
  readonly relations: TaskRelations | undefined;
}

export type TaskStateName = "waiting" | "running" | "done" | "failed" | "cancelled" | "expired";
export type FinishedStateName = Exclude<TaskStateName, "waiting" | "running">;

export interface TaskError {
  readonly code: string;
  readonly message: string;
  /** More than fits into a message, such as a stack trace. */
  readonly detail?: string | undefined;
}

/** What the worker of an attempt last said about how far it is. */
export interface TaskReport {
  /** JSON, at most `reportLengthMax` characters; undefined if it only left a message. */
  readonly value: string | undefined;
  readonly message: string | undefined;
  readonly at: WallTime;
}

/** Room for a structured report. A larger one belongs in the result. */
export const reportLengthMax = 4096;

/** Room for a long stack trace. */
export const errorDetailMax = 16_384;

/** One transition, or a refused late answer, in a task's story. */
export interface StoryEntry {
  readonly at: WallTime;
  readonly to: TaskStateName;
  readonly cause: string;
  readonly attempt: AttemptNumber | undefined;
  readonly worker: WorkerId | undefined;
}

/** The part of a task that changes. A task that was accepted and not touched since has none. */
export interface TaskProgress {
  readonly id: TaskId;
  readonly state: TaskStateName;
  /** The last attempt and its worker; undefined before the first. */
  readonly attempt: AttemptNumber | undefined;
  readonly worker: WorkerId | undefined;
  readonly startedAt: WallTime | undefined;
  readonly finishedAt: WallTime | undefined;
  readonly losses: number;
  readonly failures: number;
  /** End of the backoff of a waiting task; 0 otherwise. */
  readonly notBefore: WallTime | 0;
  readonly error: TaskError | undefined;
  readonly result: Body | undefined;
  readonly told: boolean;
  /** Its number in history once no delivery is pending; 0 before that. */
  readonly settled: number;
  /** True if it was running when the dispatcher stopped and its worker may resume it. */
  readonly recovering: boolean;
  /** Absent while the fields above tell the whole story: see `storyOf`. */
  readonly story: readonly StoryEntry[] | undefined;
  /** The last report of the last attempt. */
  readonly report?: TaskReport | undefined;
}

/** The idempotency key of a finished task. The key of a live task is in its head. */
export interface KeyRecord {
  readonly queue: string;
  readonly key: string;
  readonly task: TaskId;
  readonly fingerprint: string | undefined;
  readonly finishedAt: WallTime;
}

/** Operators' orders to a queue. A queue without orders has no record. */
export interface QueueRecord {
  readonly name: string;
  readonly paused: boolean;
  readonly draining: boolean;
}

/** How far a door's posts were handled, so that a repeated post has no effect. */
export interface DoorRecord {
  readonly name: string;
  readonly incarnation: number;
  readonly mark: number;
}

/**
 * A record that a door needs after a restart. Its bytes belong to the door; the core only commits
 * them.
 */
export interface MemoRecord {
  readonly door: string;
  /** At most `memoNameMax` bytes of UTF-8. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The door name under which the core's own memos are committed. No door can have it. */
export const coreMemoDoor = "(yard)";

/** Short enough that door and name fit into an engine's key. */
export const memoNameMax = 512;

export type Change =
  | { readonly kind: "head"; readonly head: TaskHead }
  /** `queue` is the task's queue, for those who follow changes. Engines do not store it. */
  | { readonly kind: "progress"; readonly progress: TaskProgress; readonly queue?: string }
  | { readonly kind: "key"; readonly key: KeyRecord }
  | { readonly kind: "key-gone"; readonly queue: string; readonly key: string; readonly task: TaskId }
  | { readonly kind: "queue"; readonly queue: QueueRecord }
  | { readonly kind: "queue-gone"; readonly name: string }
  | { readonly kind: "door"; readonly door: DoorRecord }
  | { readonly kind: "memo"; readonly memo: MemoRecord }
  | { readonly kind: "memo-gone"; readonly door: string; readonly name: string }
  /**
   * Evicts every settled task of the segments of one lane up to and including this one: head,
   * progress and bodies.
   */
  | { readonly kind: "history-trimmed"; readonly through: number };

/** A task as it was committed. */
export interface StoredTask {
  readonly head: TaskHead;
  /** Absent for a task that was accepted and not touched since. */
  readonly progress: TaskProgress | undefined;
}
