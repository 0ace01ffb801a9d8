// The fields of a task's records that an index and a history need, read without decoding the rest.

import {
  sizeWithRecords,
  type TaskError,
  type TaskId,
  type TaskStateName,
  type WallTime,
} from "@yardmaster/core";
import type { RecordReader } from "./record-reader.js";
import {
  bodyBits,
  headBits,
  progressBits,
  readStory,
  relationsIn,
  skipAfterResult,
  stateBits,
  stateOf,
} from "./task-records.js";

export interface HeadSum {
  readonly id: TaskId;
  readonly queue: string;
  readonly door: string;
  readonly submittedAt: WallTime;
  readonly key: string | undefined;
  /** As counted by `storedBytes`, without a result. */
  readonly bytes: number;
  /** The payload's bytes are out of line. */
  readonly isOutOfLine: boolean;
}

export interface ProgressSum {
  readonly id: TaskId;
  readonly state: TaskStateName;
  readonly worker: string | undefined;
  readonly error: TaskError | undefined;
  readonly finishedAt: WallTime | 0;
  readonly settled: number;
  readonly resultBytes: number;
  /** The result's bytes are out of line. */
  readonly isOutOfLine: boolean;
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
  const isOutOfLine = skipBody(from, payloadBytes);
  relationsIn(from, bits);
  from.finish();
  const bytes = sizeWithRecords(payloadBytes + envelopeBytes);
  return { id, queue, door, submittedAt, key, bytes, isOutOfLine };
}

export function sumProgress(from: RecordReader): ProgressSum {
  const id = from.number() as TaskId;
  const states = from.byte();
  const state = stateOf(states & stateBits.mask);
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
  const isOutOfLine = hasResult && skipBody(from, resultBytes);
  if (hasResult) {
    skipAfterResult(from, states);
    from.finish();
  }
  return { id, state, worker, error, finishedAt, settled, resultBytes, isOutOfLine };
}

/** Skips the rest of a body after its size. Returns true if its bytes are out of line. */
function skipBody(from: RecordReader, size: number): boolean {
  from.mediaType();
  const bits = from.byte();
  if (bits & bodyBits.envelope) from.skip(from.number());
  const isInline = (bits & bodyBits.inline) !== 0;
  if (isInline) from.skip(size);
  return !isInline;
}
