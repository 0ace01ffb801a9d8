// What is committed: keyed records of bounded size and the changes that put or delete them. A change is absolute: to
// apply it twice is to apply it once, and replaying changes in order needs neither clock nor chance.
// A task is two records: its head, written once when it is accepted, and its progress, written at every transition.

import type { AttemptNumber, TaskId, WorkerId } from "./names.js";
import type { WallTime } from "./time.js";

/** Bytes that the core carries but never reads: a payload or a result. */
export interface Body {
  readonly mediaType: string;
  readonly size: number;
  /** Absent when the bytes lie in the engine and not in memory; whoever needs them asks it. */
  readonly bytes?: Uint8Array;
}

/** Where an outcome goes. The address is the door's own; the core only hands it back. */
export interface ReplyTo {
  readonly address: string;
  /** It ends with a connection: whoever was to be told there cannot be, once that or we are gone. */
  readonly isFleeting: boolean;
}

/** How a task may be tried. Shared between tasks that ask for the same. */
export interface TaskPolicy {
  /** Lost attempts after which the task ends `failed` as poison. */
  readonly attempts: number;
  /** Failures reported by workers after which it ends `failed`. */
  readonly failures: number;
  /** Time limit of one attempt; 0 is none. */
  readonly attemptTimeoutMs: number;
  /** How long it may wait each time it enters `waiting`, backoff aside; 0 is for ever. */
  readonly waitingMsMax: number;
}

/** The part of a task that never changes. */
export interface TaskHead {
  readonly id: TaskId;
  readonly queue: string;
  /** Higher goes first. */
  readonly priority: number;
  /** The door it came in by. */
  readonly door: string;
  readonly submittedAt: WallTime;
  readonly payload: Body;
  readonly policy: TaskPolicy;
  /** Idempotency key, unique within the queue while the task lives and for `keyTtlMs` after. */
  readonly key: string | undefined;
  /** A digest of the payload made by the door, to tell a repeated key from a misused one. */
  readonly fingerprint: string | undefined;
  readonly replyTo: ReplyTo | undefined;
  /** What the dialect adds to the payload, kept for the answer in kind. */
  readonly envelope: Uint8Array | undefined;
  /** Not before this; 0 when at once. */
  readonly notBefore: WallTime | 0;
  /** Not to be started after this; 0 when for ever. */
  readonly expiresAt: WallTime | 0;
}

export type TaskStateName = "waiting" | "running" | "done" | "failed" | "cancelled" | "expired";
export type FinishedStateName = Exclude<TaskStateName, "waiting" | "running">;

export interface TaskError {
  readonly code: string;
  readonly message: string;
}

/** One transition, or a refused late answer, in a task's story. */
export interface StoryEntry {
  readonly at: WallTime;
  readonly to: TaskStateName;
  readonly cause: string;
  readonly attempt: AttemptNumber | undefined;
  readonly worker: WorkerId | undefined;
}

/** The part of a task that changes. A task that has only been accepted has none yet. */
export interface TaskProgress {
  readonly id: TaskId;
  readonly state: TaskStateName;
  /** The last attempt given out, and to whom; absent before the first. */
  readonly attempt: AttemptNumber | undefined;
  readonly worker: WorkerId | undefined;
  readonly startedAt: WallTime | undefined;
  readonly finishedAt: WallTime | undefined;
  readonly losses: number;
  readonly failures: number;
  /** While waiting: not before this, because of backoff; 0 otherwise. */
  readonly notBefore: WallTime | 0;
  readonly error: TaskError | undefined;
  readonly result: Body | undefined;
  readonly told: boolean;
  /** Its place in history, from when nobody has to be told any more; 0 before that. */
  readonly settled: number;
  /** It was running when we stopped, and its worker may come back for it. */
  readonly recovering: boolean;
  /** Absent while its life is an ordinary one, which the fields above tell by themselves: see `storyOf`. */
  readonly story: readonly StoryEntry[] | undefined;
}

/** The idempotency key of a finished task; that of a live one is in its head. */
export interface KeyRecord {
  readonly queue: string;
  readonly key: string;
  readonly task: TaskId;
  readonly fingerprint: string | undefined;
  readonly finishedAt: WallTime;
}

/** What an operator said of a queue. A queue nobody said anything of has no record. */
export interface QueueRecord {
  readonly name: string;
  readonly paused: boolean;
  readonly draining: boolean;
}

/** How far a door's posts were taken in, so that one posted again is not taken twice. */
export interface DoorRecord {
  readonly name: string;
  readonly incarnation: number;
  readonly mark: number;
}

/** What a door wants to find again after a restart. The bytes are its own; the core only has them committed. */
export interface MemoRecord {
  readonly door: string;
  /** At most `memoNameMax` bytes of UTF-8. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** So that door and name fit into an engine's key. */
export const memoNameMax = 512;

/** What history holds of one run of settled tasks; retention lets go of whole segments. */
export interface HistorySegment {
  /** Settled numbers index · segmentSize + 1 … (index + 1) · segmentSize. */
  readonly index: number;
  readonly count: number;
  readonly bytes: number;
  /** When the last of them finished. */
  readonly lastFinishedAt: WallTime;
}

/** Small enough that dropping one segment is a small step, large enough that ten million tasks make few of them. */
export const historySegmentSize = 256;

export function historySegmentOf(settled: number): number {
  return Math.floor((settled - 1) / historySegmentSize);
}

export type Change =
  | { readonly kind: "head"; readonly head: TaskHead }
  | { readonly kind: "progress"; readonly progress: TaskProgress }
  | { readonly kind: "key"; readonly key: KeyRecord }
  | { readonly kind: "key-gone"; readonly queue: string; readonly key: string; readonly task: TaskId }
  | { readonly kind: "queue"; readonly queue: QueueRecord }
  | { readonly kind: "queue-gone"; readonly name: string }
  | { readonly kind: "door"; readonly door: DoorRecord }
  | { readonly kind: "memo"; readonly memo: MemoRecord }
  | { readonly kind: "memo-gone"; readonly door: string; readonly name: string }
  /** Every settled task of the segments up to and with this one goes, head, progress and bodies. */
  | { readonly kind: "history-trimmed"; readonly through: number };

/** A task as it is committed. */
export interface StoredTask {
  readonly head: TaskHead;
  /** Absent while it has only been accepted. */
  readonly progress: TaskProgress | undefined;
}

/** The bytes of a task that history counts against its limit: bodies, and a flat charge for the records. */
export function storedBytes(head: TaskHead, result: Body | undefined): number {
  return sizeWithRecords(head.payload.size + (head.envelope?.length ?? 0) + (result?.size ?? 0));
}

/** As `storedBytes`, of what is known by its size alone. */
export function sizeWithRecords(bodyBytes: number): number {
  return bodyBytes + recordBytes;
}

/** What a task's records take beside its bodies, as a round figure: the limit is there to bound, not to bill. */
const recordBytes = 512;

/** A task's story. That of an ordinary life (accepted, given out once, done or failed) is not kept but made here. */
export function storyOf(head: TaskHead, progress: TaskProgress | undefined): readonly StoryEntry[] {
  if (progress?.story !== undefined) return progress.story;
  const story: StoryEntry[] = [
    { at: head.submittedAt, to: "waiting", cause: "submitted", attempt: undefined, worker: undefined },
  ];
  if (progress?.startedAt === undefined) return story;
  const { attempt, worker, state, finishedAt } = progress;
  story.push({ at: progress.startedAt, to: "running", cause: "assigned", attempt, worker });
  if (finishedAt !== undefined) story.push({ at: finishedAt, to: state, cause: state, attempt, worker });
  return story;
}
