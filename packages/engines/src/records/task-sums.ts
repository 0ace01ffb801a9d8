// What an index and a history need to know of a task's records, read without making anything of the rest.

import {
  sizeWithRecords,
  type TaskError,
  type TaskId,
  type TaskStateName,
  type WallTime,
} from "@yardmaster/core";
import type { RecordReader } from "./record-reader.js";
import { headBits, progressBits, readStory, stateBits, stateOf } from "./task-records.js";

export interface HeadSum {
  readonly id: TaskId;
  readonly queue: string;
  readonly door: string;
  readonly submittedAt: WallTime;
  readonly key: string | undefined;
  /** As `storedBytes` counts them, without a result. */
  readonly bytes: number;
  /** The payload's bytes lie elsewhere. */
  readonly isApart: boolean;
}

export interface ProgressSum {
  readonly id: TaskId;
  readonly state: TaskStateName;
  readonly worker: string | undefined;
  readonly error: TaskError | undefined;
  readonly finishedAt: WallTime | 0;
  readonly settled: number;
  readonly resultBytes: number;
  /** The result's bytes lie elsewhere. */
  readonly isApart: boolean;
}

export function sumHead(from: RecordReader): HeadSum {
  const id = from.number() as TaskId;
  const bits = from.byte();
  const queue = from.name();
  const door = from.name();
  const submittedAt = from.number() as WallTime;
  // Priority and policy.
  for (let left = 5; left > 0; left--) from.number();
  const key = bits & headBits.key ? from.string() : undefined;
  if (bits & headBits.fingerprint) from.skipString();
  if (bits & headBits.replyTo) from.skipString();
  if (bits & headBits.notBefore) from.number();
  if (bits & headBits.expiresAt) from.number();
  const envelopeBytes = bits & headBits.envelope ? from.skip(from.number()) : 0;
  const payloadBytes = from.number();
  const isApart = skipBody(from, payloadBytes);
  const bytes = sizeWithRecords(payloadBytes + envelopeBytes);
  return { id, queue, door, submittedAt, key, bytes, isApart };
}

export function sumProgress(from: RecordReader): ProgressSum {
  const id = from.number() as TaskId;
  const state = stateOf(from.byte() & stateBits.mask);
  const bits = from.byte();
  const settled = from.number();
  // Losses and failures.
  from.number();
  from.number();
  if (bits & progressBits.attempt) from.number();
  const worker = bits & progressBits.worker ? from.name() : undefined;
  if (bits & progressBits.startedAt) from.number();
  const finishedAt = (bits & progressBits.finishedAt ? from.number() : 0) as WallTime | 0;
  if (bits & progressBits.notBefore) from.number();
  const error = bits & progressBits.error ? { code: from.name(), message: from.string() } : undefined;
  if (bits & progressBits.story) readStory(from);
  const hasResult = (bits & progressBits.result) !== 0;
  const resultBytes = hasResult ? from.number() : 0;
  const isApart = hasResult && skipBody(from, resultBytes);
  return { id, state, worker, error, finishedAt, settled, resultBytes, isApart };
}

/** What follows a body's size, to the end of the record; whether its bytes lie elsewhere. */
function skipBody(from: RecordReader, size: number): boolean {
  from.mediaType();
  const isApart = from.byte() === 0;
  if (!isApart) from.skip(size);
  from.finish();
  return isApart;
}
