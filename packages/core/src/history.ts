// What is kept of finished tasks, and what is let go: by count, bytes and age. The core does not hold them; it holds sums
// of runs of them, and lets go of a whole run at a time, in small steps that no task waits for.

import { Fifo } from "./fifo.js";
import type { Retention } from "./limits.js";
import { type HistorySegment, historySegmentOf, historySegmentSize } from "./records.js";
import { after, type Instant, instantOf, type Moment } from "./time.js";

/** A run ends early when it holds this share of what is allowed, so that dropping one never drops most. */
const segmentShare = 1 / 16;

interface Run {
  index: number;
  count: number;
  bytes: number;
  /** When the last of them finished. */
  lastAt: Instant;
}

export class History {
  readonly #retention: Retention;
  readonly #runs = new Fifo<Run>();
  #lastSettled = 0;
  #count = 0;
  #bytes = 0;

  constructor(retention: Retention) {
    this.#retention = retention;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  restore(segment: HistorySegment, now: Moment): void {
    const { index, count, bytes, lastFinishedAt } = segment;
    // Not after now, although the wall clock may have been set back while we were away.
    const lastAt = instantOf(lastFinishedAt < now.wall ? lastFinishedAt : now.wall, now);
    this.#runs.push({ index, count, bytes, lastAt });
    this.#count += segment.count;
    this.#bytes += segment.bytes;
  }

  /** All are restored, in whatever order they came. */
  restoreLast(settled: number): void {
    this.#runs.sort((one, other) => one.index - other.index);
    this.#lastSettled = settled;
  }

  /** Takes a finished task in; its number in history. */
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
    const { bytes: bytesMax, count: countMax } = this.#retention;
    if (run.bytes > bytesMax * segmentShare || run.count >= countMax * segmentShare) this.#endRun(run);
    return settled;
  }

  /** Lets go of the oldest run if there is too much or it is too old; its index. Call until undefined. */
  trim(now: Instant): number | undefined {
    const oldest = this.#runs.first();
    if (oldest === undefined) return undefined;
    const isOver = this.#count > this.#retention.count || this.#bytes > this.#retention.bytes;
    const isOld = oldest.lastAt + this.#retention.ageMs <= now;
    if (!isOld && !(isOver && this.#runs.size > 1)) return undefined;
    this.#endRun(oldest);
    this.#runs.shift();
    this.#count -= oldest.count;
    this.#bytes -= oldest.bytes;
    return oldest.index;
  }

  /** When the oldest run will be too old. */
  nextTrim(): Instant | undefined {
    const oldest = this.#runs.first();
    return oldest === undefined ? undefined : after(oldest.lastAt, this.#retention.ageMs);
  }

  /** The next task begins a new run: numbers are skipped, never used twice. */
  #endRun(run: Run): void {
    if (historySegmentOf(this.#lastSettled) === run.index) {
      this.#lastSettled = (run.index + 1) * historySegmentSize;
    }
  }
}
