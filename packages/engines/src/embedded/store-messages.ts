// The messages between the engine and the store's thread. Records travel as bytes, many to a
// buffer. Batches travel in shared memory; other buffers are transferred, not copied.

import type { TaskId } from "@yardmaster/core";
import type { BodyPart, LoadItem, TaskQuery } from "../engine.js";
import type { JournalMark } from "./journal.js";

/** Size of a group's buffer on either side. It is reused, unless the group was larger. */
export const groupBytes = 2_097_152;

/**
 * The offsets of a batch in its group's buffer. Each change in it is a record behind its length.
 */
export interface StoredBatch {
  readonly number: number;
  readonly start: number;
  readonly end: number;
}

/**
 * Batches that are sent to the store together. Their memory is shared and reused once the store has
 * them. V8 counts every transferred buffer as newly allocated memory, which would cause extra
 * garbage collections.
 */
export interface BatchGroup {
  readonly bytes: SharedArrayBuffer;
  readonly batches: readonly StoredBatch[];
}

/** A section of a large body. */
export interface BodyStretch {
  readonly task: TaskId;
  readonly part: BodyPart;
  /** Offset in the body; a multiple of the piece size. */
  readonly from: number;
  /** Undefined to delete the body. */
  readonly bytes: ArrayBuffer | undefined;
}

export type Request =
  | {
      readonly op: "open";
      readonly path: string;
      readonly durability: "fsync" | "memory";
      /** The file's last transaction at its last clean shutdown, if known. */
      readonly transaction: number | undefined;
      /**
       * The journals of an owner that was not shut down cleanly: if the store is of their epoch,
       * they must exist.
       */
      readonly journal: JournalMark | undefined;
    }
  /**
   * Sends a group. The store takes over earlier groups, and with `isAll` this one too. Otherwise it
   * keeps this one, which shows which tasks are about to settle.
   */
  | { readonly op: "commit"; readonly group: BatchGroup | undefined; readonly isAll: boolean }
  /** All in one transaction. */
  | { readonly op: "put-bodies"; readonly stretches: readonly BodyStretch[] }
  | { readonly op: "body"; readonly task: TaskId; readonly part: BodyPart; readonly size: number }
  | { readonly op: "memo"; readonly door: string; readonly name: string }
  /** `isLenient`: a damaged record is reported and left out. Otherwise it is an error. */
  | { readonly op: "tasks"; readonly tasks: readonly TaskId[]; readonly isLenient: boolean }
  | { readonly op: "find"; readonly query: TaskQuery }
  | { readonly op: "load" }
  /** The engine has processed one part of the load, so another may be sent. */
  | { readonly op: "taken" }
  | { readonly op: "close" };

export type Answer =
  /**
   * `tasks`: the number of live tasks, which will be loaded. `lastTask`: the greatest id ever used.
   */
  | { readonly type: "opened"; readonly epoch: number; readonly tasks: number; readonly lastTask: number }
  /** `through`: the last batch taken over by this request; 0 if there was none. */
  | { readonly type: "committed"; readonly through: number }
  | { readonly type: "bytes"; readonly bytes: ArrayBuffer }
  /**
   * Tasks, each as two records behind their lengths; a missing progress record has length 0.
   * `through`: the last batch that the store had at that time.
   */
  | {
      readonly type: "tasks";
      readonly bytes: ArrayBuffer;
      readonly length: number;
      readonly through: number;
      readonly cursor?: string;
    }
  | { readonly type: "items"; readonly items: readonly LoadItem[] }
  | { readonly type: "nothing" }
  | { readonly type: "failed"; readonly failure: Failure };

/** An error in the form in which it crosses threads. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  /** LMDB's or the system's code. */
  readonly code: number | string | undefined;
}

export interface Asked {
  readonly id: number;
  readonly request: Request;
}

export interface Answered {
  readonly id: number;
  readonly answer: Answer;
  /** More answers to the same request follow. */
  readonly more?: boolean;
  /** Descriptions of damaged records. */
  readonly damaged?: readonly string[];
}
