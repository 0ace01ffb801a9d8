// The engine contract: where changes become durable. No engine contains a scheduler; the seam is under the core.
//
// - `commit` is the only point of durability. One is in flight at a time; batches are numbered, and the same number
//   again is the same batch: an engine that has it already says done.
// - `open` takes the store over with a new, committed epoch. From then on the earlier owner's commits are `fenced`.
// - `load` streams what was committed: a task that is not settled, with its progress; keys; queues; doors and
//   their memos; the segments
//   of history. Nothing in it needs a clock.
// - Bodies above `inlineBytesMax` are put before the commit that refers to them; one that no record refers to is rubbish
//   that the engine may clear when it opens.
// - Changes are applied in order, and each is absolute. A progress whose task is not there (it was trimmed) changes
//   nothing; a `key-gone` leaves the record alone if another task owns the key by now.
// - `task`, `body` and `find` answer from what is committed, settled tasks included until they are trimmed.

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
  /** 1, 2, 3, … within the epoch. To leave one out is a mistake of the caller's: the commit throws. */
  readonly number: number;
  readonly changes: readonly Change[];
}

export type CommitOutcome =
  | { readonly type: "done" }
  /** Another owner has the store: drop memory. */
  | { readonly type: "fenced"; readonly message: string }
  /** It may or may not have happened: ask again with the same batch. */
  | { readonly type: "unknown"; readonly message: string }
  /** It did not happen, and may later: ask again with the same batch. */
  | { readonly type: "unavailable"; readonly message: string }
  /** There is no room. */
  | { readonly type: "full"; readonly message: string };

export interface Opened {
  /** Greater than every epoch before; committed. */
  readonly epoch: number;
  /** How many tasks `load` is going to stream, where that is known. */
  readonly tasks?: number;
}

/** What `load` streams, in no particular order but for tasks, which come by rising id, and `end`, which is last. */
export type LoadItem =
  | { readonly type: "task"; readonly task: StoredTask }
  | { readonly type: "key"; readonly key: KeyRecord }
  | { readonly type: "queue"; readonly queue: QueueRecord }
  | { readonly type: "door"; readonly door: DoorRecord }
  | { readonly type: "memo"; readonly memo: MemoRecord }
  | { readonly type: "segment"; readonly segment: HistorySegment }
  /** The greatest id of a head and the greatest place in history ever committed, trimmed or not. */
  | { readonly type: "end"; readonly lastTask: TaskId | 0; readonly lastSettled: number };

export type BodyPart = "payload" | "result";

export interface TaskQuery {
  readonly queue?: string;
  readonly state?: TaskStateName;
  readonly door?: string;
  readonly worker?: string;
  /** Submitted at or after, and before. */
  readonly since?: WallTime;
  readonly until?: WallTime;
  /** The task's id, its key or the error's code, each in full, or how the error's message starts. */
  readonly text?: string;
  /** At least 1. */
  readonly limit: number;
  /** From an earlier page of the same query, the limit aside; `find` throws `CursorMismatch` if it is from another. */
  readonly cursor?: string;
}

export interface TaskPage {
  /** Newest first. */
  readonly items: readonly StoredTask[];
  /** Where to go on. There may be no more after all: looking ahead could mean to walk over everything. */
  readonly cursor: string | undefined;
}

export interface Engine {
  readonly name: string;
  /** What a commit survives, for the banner. */
  readonly durability: "fsync" | "memory";
  /** Bodies up to this size travel inside their record. */
  readonly inlineBytesMax: number;
  /** How far apart batches had best begin while changes come without end; otherwise they begin when the last is done. */
  readonly busyMs: number;
  open(): Promise<Opened>;
  load(take: (item: LoadItem) => void): Promise<void>;
  commit(batch: Batch): Promise<CommitOutcome>;
  /** Of a fenced owner nothing is kept; it learns of that from the commit that follows. */
  putBody(task: TaskId, part: BodyPart, body: Body): Promise<void>;
  /** With its bytes, wherever they lie; only of what a committed record refers to. */
  body(task: TaskId, part: BodyPart): Promise<Body | undefined>;
  task(id: TaskId): Promise<StoredTask | undefined>;
  find(query: TaskQuery): Promise<TaskPage>;
  /** Gives up the store. Again does nothing. */
  close(): Promise<void>;
}
