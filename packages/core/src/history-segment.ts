// How settled tasks are numbered: in lanes, and in segments of a lane, which retention evicts as a
// whole. And what a settled task counts against the limit on bytes.

import type { Body, TaskHead } from "./records.js";
import type { WallTime } from "./time.js";

/** Sums of one run of settled tasks. Retention evicts whole segments. */
export interface HistorySegment {
  /** The segment holds the settled numbers index · segmentSize + 1 to (index + 1) · segmentSize. */
  readonly index: number;
  readonly count: number;
  readonly bytes: number;
  /** When the last task of the segment finished. */
  readonly lastFinishedAt: WallTime;
}

/**
 * Small enough that evicting a segment is a small step, and large enough that ten million tasks
 * make few segments.
 */
export const historySegmentSize = 256;

export function historySegmentOf(settled: number): number {
  return Math.floor((settled - 1) / historySegmentSize);
}

/**
 * History has lanes: one for each queue with a retention of its own, and lane 0 for all others.
 * Each lane has a range of segments of this size, so that it is trimmed by itself.
 */
export const historyLaneSegments: number = 2 ** 36;

/** Lanes beside lane 0. The numbers of all of them stay below 2^53. */
export const historyLanesMax = 64;

/** The lane of a segment. A trim to a negative segment belongs to lane 0 and evicts nothing. */
export function historyLaneOf(segment: number): number {
  return Math.max(0, Math.floor(segment / historyLaneSegments));
}

/** The first segment of the lane that this one is in. */
export function historyLaneStart(segment: number): number {
  return historyLaneOf(segment) * historyLaneSegments;
}

/**
 * The size of a task that counts against the retention limit: its bodies, and a flat charge for its
 * records.
 */
export function storedBytes(head: TaskHead, result: Body | undefined): number {
  return sizeWithRecords(head.payload.size + (head.envelope?.length ?? 0) + (result?.size ?? 0));
}

/** Like `storedBytes`, for bodies of which only the size is known. */
export function sizeWithRecords(bodyBytes: number): number {
  return bodyBytes + recordBytes;
}

/**
 * Approximate size of a task's records without bodies. The limit bounds the store; it need not be
 * exact.
 */
const recordBytes = 512;
