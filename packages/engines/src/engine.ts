// The engine contract: where changes become durable. No engine contains a scheduler.
//
// - `commit` is the only point of durability. One is in flight at a time. Batches are numbered, and
//   a repeated number is the same batch: an engine that has it already answers done.
// - `open` takes over the store with a new, committed epoch. From then on the earlier owner's
//   commits are `fenced`.
// - `load` streams what was committed: unsettled tasks with their progress; keys; queues; doors and
//   their memos; the segments of history. Nothing in it needs a clock. A memo above
//   `loadedMemoBytesMax` is streamed without its bytes; `memo` reads them. It may fail once
//   another owner has the store.
// - Bodies above `inlineBytesMax` are put before the commit that refers to them. The engine may
//   delete bodies without a reference when it opens.
// - Changes are applied in order, and each is absolute. A progress whose task does not exist (it
//   was evicted) changes nothing. A `key-gone` leaves the record alone if another task owns the key
//   by now.
// - `task`, `body`, `memo` and `find` answer from committed state, including settled tasks until
//   they are evicted.

import type {
  Body,
  Change,
  DoorRecord,
  HistorySegment,
  KeyRecord,
  MemoRecord,
  QueueRecord,
  StoredTask,
  TaskId,
  TaskStateName,
  WallTime,
} from "@yardmaster/core";

export interface Batch {
  readonly epoch: number;
  /**
   * 1, 2, 3, … within the epoch. Skipping a number is a mistake of the caller, and the commit
   * throws.
   */
  readonly number: number;
  readonly changes: readonly Change[];
}

export type CommitOutcome =
  | { readonly type: "done" }
  /** Another owner has the store. The caller's memory is outdated. */
  | { readonly type: "fenced"; readonly message: string }
  /** It may or may not have happened: retry with the same batch. */
  | { readonly type: "unknown"; readonly message: string }
  /** It did not happen, but may succeed later: retry with the same batch. */
  | { readonly type: "unavailable"; readonly message: string }
  /** There is no room. */
  | { readonly type: "full"; readonly message: string }
  /**
   * The store has lost something that was acknowledged: it was put back, or replaced by a copy that
   * was behind. An operator must decide what to do.
   */
  | { readonly type: "regressed"; readonly message: string };

export interface Opened {
  /** Greater than every earlier epoch, and committed. */
  readonly epoch: number;
  /** Number of tasks that `load` will stream, if known. */
  readonly tasks?: number;
}

/** The items of `load`, in any order, except that tasks come by rising id and `end` comes last. */
export type LoadItem =
  | { readonly type: "task"; readonly task: StoredTask }
  | { readonly type: "key"; readonly key: KeyRecord }
  | { readonly type: "queue"; readonly queue: QueueRecord }
  | { readonly type: "door"; readonly door: DoorRecord }
  | { readonly type: "memo"; readonly memo: MemoRecord }
  /** A memo above `loadedMemoBytesMax`, without its bytes. */
  | { readonly type: "large-memo"; readonly door: string; readonly name: string; readonly size: number }
  | { readonly type: "segment"; readonly segment: HistorySegment }
  /** The highest task id and the highest position in history ever committed, evicted or not. */
  | {
      readonly type: "end";
      readonly lastTask: TaskId | 0;
      readonly lastSettled: number;
      /** The highest position of each lane of history, by lane. Absent if there is only lane 0. */
      readonly lanes?: readonly number[];
    };

/** Larger memos are read one by one, because a door may have more of them than fit into memory. */
export const loadedMemoBytesMax = 65_536;

export type BodyPart = "payload" | "result";

export interface TaskQuery {
  readonly queue?: string;
  readonly state?: TaskStateName;
  readonly door?: string;
  readonly worker?: string;
  /** Submitted at or after `since`, and before `until`. */
  readonly since?: WallTime;
  readonly until?: WallTime;
  /**
   * The task's id, its key or the error's code, each in full, the beginning of the error's message,
   * or words of it.
   */
  readonly text?: string;
  /** How the error's message starts. */
  readonly messagePrefix?: string;
  /** At least 1. */
  readonly limit: number;
  /**
   * From an earlier page of the same query; only the limit may differ. Otherwise `find` throws
   * `CursorMismatch`.
   */
  readonly cursor?: string;
}

export interface TaskPage {
  /** Newest first. */
  readonly items: readonly StoredTask[];
  /**
   * Where to continue. There may be no more matches: finding out could require a walk over
   * everything.
   */
  readonly cursor: string | undefined;
}

export interface Engine {
  readonly name: string;
  /** What a commit survives; shown in the start banner. */
  readonly durability: "fsync" | "memory" | "replicated";
  /** Bodies up to this size are stored inside their record. */
  readonly inlineBytesMax: number;
  /**
   * Under sustained load at most one batch starts per interval. Otherwise a batch starts when the
   * last one is done.
   */
  readonly minBatchIntervalMs: number;
  /**
   * How often and for how long a commit without a definite answer is retried, if the usual way does
   * not fit.
   */
  readonly retry?: { readonly everyMs: number; readonly forMs: number };
  open(): Promise<Opened>;
  load(take: (item: LoadItem) => void): Promise<void>;
  commit(batch: Batch): Promise<CommitOutcome>;
  /** The body of a fenced owner is not kept. The owner learns of it from the next commit. */
  putBody(task: TaskId, part: BodyPart, body: Body): Promise<void>;
  /** Deletes a body to which no record refers. A missing one is not a fault. */
  dropBody(task: TaskId, part: BodyPart): Promise<void>;
  /**
   * The body with its bytes, in line or out of line. Only for a body to which a committed record
   * refers.
   */
  body(task: TaskId, part: BodyPart): Promise<Body | undefined>;
  /** The bytes of a committed memo, of any size. */
  memo(door: string, name: string): Promise<Uint8Array | undefined>;
  /**
   * Resolves when committed batches have mostly reached the place where they are found. Background
   * work waits for it, so that it does not use up the room in which others commit. Absent if an
   * engine has no such way.
   */
  whenCaughtUp?(): Promise<void>;
  task(id: TaskId): Promise<StoredTask | undefined>;
  find(query: TaskQuery): Promise<TaskPage>;
  /** Gives up the store. A second call does nothing. */
  close(): Promise<void>;
}
