// What the engine and its thread say to each other. Records travel as bytes, many to a buffer. Batches go through memory that
// both have; other buffers are handed over, not copied.

import type { TaskId } from "@yardmaster/core";
import type { BodyPart, LoadItem, TaskQuery } from "../engine.js";

/** Of the memory for a group, on either side: it is used again, unless the group was larger. */
export const groupBytes = 2_097_152;

/** Where a batch lies among the bytes of its group: each change is a record behind its length. */
export interface StoredBatch {
  readonly number: number;
  readonly start: number;
  readonly end: number;
}

/**
 * Batches that go to the store together. Their bytes are shared, and may be used again when the request was answered: what
 * is handed over V8 counts as new on the other side, each time, and collects garbage the sooner for it.
 */
export interface BatchGroup {
  readonly bytes: SharedArrayBuffer;
  readonly batches: readonly StoredBatch[];
}

export type Request =
  | {
      readonly op: "open";
      readonly path: string;
      readonly durability: "fsync" | "memory";
      /** The file's last transaction when it was closed in order, if that is known. */
      readonly transaction: number | undefined;
      /** The epoch whose journals have to be there if the store is of it, because its owner did not end in order. */
      readonly journal: number | undefined;
    }
  /**
   * To be taken over, in order: groups that were given before, and with `isAll` this one as well. Without it it is kept
   * for the next time, and shows meanwhile which tasks are about to settle.
   */
  | { readonly op: "commit"; readonly group: BatchGroup | undefined; readonly isAll: boolean }
  | {
      readonly op: "put-body";
      readonly task: TaskId;
      readonly part: BodyPart;
      /** Where in the body these bytes begin. */
      readonly from: number;
      readonly bytes: ArrayBuffer;
    }
  | { readonly op: "body"; readonly task: TaskId; readonly part: BodyPart }
  | { readonly op: "task"; readonly task: TaskId }
  | { readonly op: "find"; readonly query: TaskQuery }
  | { readonly op: "load" }
  /** A part of the load was taken: the next may come. */
  | { readonly op: "taken" }
  | { readonly op: "close" };

export type Answer =
  /** `tasks`: how many are live, and to be loaded. */
  | { readonly type: "opened"; readonly epoch: number; readonly tasks: number }
  /** Up to which batch; 0 for none. */
  | { readonly type: "committed"; readonly through: number }
  | { readonly type: "body"; readonly mediaType: string; readonly bytes: ArrayBuffer }
  /** Tasks, each as two records behind their lengths; a progress record that is not there has length 0. */
  | { readonly type: "tasks"; readonly bytes: ArrayBuffer; readonly length: number; readonly cursor?: string }
  | { readonly type: "items"; readonly items: readonly LoadItem[] }
  | { readonly type: "nothing" }
  | { readonly type: "failed"; readonly failure: Failure };

/** An error as it crosses from the thread. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  /** LMDB's or the system's number. */
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
  /** Records that were found not to be what was written. */
  readonly damaged?: readonly string[];
}
