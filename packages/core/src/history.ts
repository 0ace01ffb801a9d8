// Retention of finished tasks by count, bytes and age. The core does not hold these tasks, only the
// sums of runs of them. It evicts one run at a time, in small steps.

import { Fifo } from "./fifo.js";
import {
  type HistorySegment,
  historyLaneSegments,
  historySegmentOf,
  historySegmentSize,
} from "./history-segment.js";
import type { Retention } from "./limits.js";
import { after, type Instant, instantOf, type Moment } from "./time.js";

/**
 * A run ends early at this share of the allowed count or bytes, so that evicting one run never
 * evicts most of the history.
 */
const segmentShare = 1 / 16;

interface Run {
  index: number;
  count: number;
  bytes: number;
  /** When the last task of the run finished. */
  lastAt: Instant;
}

export class History {
  /** May be replaced at any time; `trim` follows it. */
  retention: Retention;
  readonly #runs = new Fifo<Run>();
  #lastSettled: number;
  #count = 0;
  #bytes = 0;

  constructor(retention: Retention, lane = 0) {
    this.retention = retention;
    this.#lastSettled = lane * historyLaneSegments * historySegmentSize;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  restore(segment: HistorySegment, now: Moment): void {
    const { index, count, bytes, lastFinishedAt } = segment;
    // At most now: the wall clock may have been set back while the dispatcher was down.
    const lastAt = instantOf(lastFinishedAt < now.wall ? lastFinishedAt : now.wall, now);
    this.#runs.push({ index, count, bytes, lastAt });
    this.#count += segment.count;
    this.#bytes += segment.bytes;
  }

  /** Ends restoring. Segments may have come in any order. */
  restoreLast(settled: number): void {
    this.#runs.sort((one, other) => one.index - other.index);
    this.#lastSettled = Math.max(this.#lastSettled, settled);
  }

  /** Adds a finished task and returns its number in history. */
  add(bytes: number, now: Instant): number {
    this.#lastSettled += 1;
    const index = historySegmentOf(this.#lastSettled);
    let run = this.#runs.last();
    if (run === undefined || run.index !== index) {
      run = { index, count: 0, bytes: 0, lastAt: now };
      this.#runs.push(run);
    }
    run.count += 1;
    run.bytes += bytes;
    run.lastAt = now;
    this.#count += 1;
    this.#bytes += bytes;
    const settled = this.#lastSettled;
    const { bytes: bytesMax, count: countMax } = this.retention;
    if (run.bytes > bytesMax * segmentShare || run.count >= countMax * segmentShare) this.#endRun(run);
    return settled;
  }

  /**
   * Evicts the oldest run if the history is too large or the run too old, and returns its index.
   * Call until undefined.
   */
  trim(now: Instant): number | undefined {
    const oldest = this.#runs.first();
    if (oldest === undefined) return undefined;
    const isOver = this.#count > this.retention.count || this.#bytes > this.retention.bytes;
    const isOld = oldest.lastAt + this.retention.ageMs <= now;
    if (!isOld && !(isOver && this.#runs.size > 1)) return undefined;
    this.#endRun(oldest);
    this.#runs.shift();
    this.#count -= oldest.count;
    this.#bytes -= oldest.bytes;
    return oldest.index;
  }

  /** When the oldest run reaches the maximum age. */
  nextTrim(): Instant | undefined {
    const oldest = this.#runs.first();
    return oldest === undefined ? undefined : after(oldest.lastAt, this.retention.ageMs);
  }

  /** Makes the next task start a new run. The skipped numbers are never used. */
  #endRun(run: Run): void {
    if (historySegmentOf(this.#lastSettled) === run.index) {
      this.#lastSettled = (run.index + 1) * historySegmentSize;
    }
  }
}
