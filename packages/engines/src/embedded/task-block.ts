// The index of one block of task ids: which are live (accepted, not settled), which are kept
// (settled, not evicted), when they were submitted, and the state of live ones. This is in memory,
// half a byte per task. The terms of the tasks are in the file, except those that were added since
// the last write.

import type { TaskError, TaskId, TaskStateName, WallTime } from "@yardmaster/core";
import { BadRecord, type RecordReader, type RecordWriter } from "../records/index.js";
import {
  addBytes,
  type Bits,
  blockSize,
  bytesOfBits,
  clearBit,
  firstBitFrom,
  hasBit,
  noBits,
  setBit,
} from "./bits.js";

/**
 * Submission times are kept as a range for each span of this many tasks: neighbours have similar
 * times.
 */
const spanSize = 64;
const spans = blockSize / spanSize;

/** The fields by which a live task can be searched. */
export interface LiveProgress {
  readonly state: TaskStateName;
  readonly worker: string | undefined;
  readonly error: TaskError | undefined;
}

export function blockOf(task: number): number {
  return Math.floor(task / blockSize);
}

export function offsetOf(task: number): number {
  return task % blockSize;
}

export class TaskBlock {
  readonly index: number;
  readonly live = noBits();
  readonly kept = noBits();
  readonly #earliest = new Float64Array(spans).fill(Number.POSITIVE_INFINITY);
  readonly #latest = new Float64Array(spans).fill(Number.NEGATIVE_INFINITY);
  /** By offset: live tasks that have a progress record. */
  readonly progressed = new Map<number, LiveProgress>();
  /**
   * By term: the offsets that are not in the file (`fresh`), and those that are being written
   * (`leaving`).
   */
  fresh = new Map<string, number[]>();
  leaving = new Map<string, number[]>();
  /** True if it differs from the file. */
  isDirty = false;

  constructor(index: number) {
    this.index = index;
  }

  accept(offset: number, submittedAt: WallTime): void {
    setBit(this.live, offset);
    const span = Math.floor(offset / spanSize);
    if (submittedAt < (this.#earliest[span] as number)) this.#earliest[span] = submittedAt;
    if (submittedAt > (this.#latest[span] as number)) this.#latest[span] = submittedAt;
    this.isDirty = true;
  }

  /** Sets the state of a live task. */
  proceed(offset: number, { state, worker, error }: LiveProgress): void {
    this.progressed.set(offset, { state, worker, error });
  }

  settle(offset: number): void {
    clearBit(this.live, offset);
    setBit(this.kept, offset);
    this.progressed.delete(offset);
    this.isDirty = true;
  }

  /** Makes a settled task live again. */
  unsettle(offset: number): void {
    clearBit(this.kept, offset);
    setBit(this.live, offset);
    this.isDirty = true;
  }

  drop(offset: number): void {
    clearBit(this.live, offset);
    clearBit(this.kept, offset);
    this.progressed.delete(offset);
    this.isDirty = true;
  }

  isLive(offset: number): boolean {
    return hasBit(this.live, offset);
  }

  isKept(offset: number): boolean {
    return hasBit(this.kept, offset);
  }

  /** By rising id. */
  liveTasks(): Generator<TaskId> {
    return this.#tasksIn(this.live);
  }

  keptTasks(): Generator<TaskId> {
    return this.#tasksIn(this.kept);
  }

  *#tasksIn(bits: Bits): Generator<TaskId> {
    const first = this.index * blockSize;
    for (let at = firstBitFrom(bits, 0); at >= 0; at = firstBitFrom(bits, at + 1)) {
      yield (first + at) as TaskId;
    }
  }

  /** Clears the tasks of all spans that have none in this range of time. */
  narrowToTimes(bits: Bits, since: number, until: number): void {
    for (let span = 0; span < spans; span++) {
      if ((this.#latest[span] as number) >= since && (this.#earliest[span] as number) < until) continue;
      bits[span * 2] = 0;
      bits[span * 2 + 1] = 0;
    }
  }

  write(to: RecordWriter): void {
    to.blob(bytesOfBits(this.live));
    to.blob(bytesOfBits(this.kept));
    for (let span = 0; span < spans; span++) {
      to.number(this.#earliest[span] as number);
      to.number((this.#latest[span] as number) - (this.#earliest[span] as number));
    }
  }

  read(from: RecordReader): void {
    addBytes(this.live, from.blob());
    addBytes(this.kept, from.blob());
    for (let span = 0; span < spans; span++) {
      const earliest = from.number();
      const width = from.number();
      this.#earliest[span] = earliest;
      this.#latest[span] = width === Number.NEGATIVE_INFINITY ? width : earliest + width;
    }
    if (from.at !== from.end) throw new BadRecord("it is longer than it should be");
  }
}
