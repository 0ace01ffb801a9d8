// The segments of history: which tasks settled in each, and the sums that `load` gives. A segment is one record of about a
// kilobyte, written again with every commit that settles into it; those that filled up are not touched until they are
// trimmed.

import {
  type HistorySegment,
  historySegmentOf,
  historySegmentSize,
  type TaskId,
  type WallTime,
} from "@yardmaster/core";
import { type RecordReader, RecordWriter, readSegment, writeSegment } from "../records/index.js";
import { numberKey, numberOfKey } from "./keys.js";
import type { StoreFile } from "./store-file.js";
import type { Tree } from "./tree.js";

export interface Member {
  readonly task: TaskId;
  readonly settled: number;
  /** Its records are in a bundle. */
  readonly isBundled: boolean;
  /** There is more of it: a key, bodies that lie apart, or records of its own although it is in a bundle. */
  readonly hasMore: boolean;
}

/** What a member adds to its segment's sums. */
export interface Share {
  readonly bytes: number;
  readonly finishedAt: WallTime | 0;
}

export class Segment {
  readonly index: number;
  readonly members = new Map<TaskId, Member>();
  bytes = 0;
  lastFinishedAt = 0;

  constructor(index: number) {
    this.index = index;
  }
}

/** More than are filled at a time; the others are read again if they are wanted. */
const openMax = 8;

export class Segments {
  readonly #file: StoreFile;
  readonly #reader: RecordReader;
  // Made anew, never cleared: a map's former table knows the next, and one that got old and died would keep alive all
  // that was ever in those after it, until the next full collection.
  #open = new Map<number, Segment>();
  #dirty = new Set<Segment>();
  /** By their places among the trimmed: some that are about to be cleared away. */
  #trimmed = new Map<number, Segment>();
  readonly #writer = new RecordWriter();

  constructor(file: StoreFile, reader: RecordReader) {
    this.#file = file;
    this.#reader = reader;
  }

  /** What was changed and not written is forgotten. */
  forget(): void {
    this.#open = new Map();
    this.#dirty = new Set();
    this.#trimmed = new Map();
  }

  add(member: Member, bytes: number, finishedAt: WallTime | 0): void {
    const segment = this.get(historySegmentOf(member.settled));
    segment.members.set(member.task, member);
    segment.bytes += bytes;
    segment.lastFinishedAt = Math.max(segment.lastFinishedAt, finishedAt);
    this.#dirty.add(segment);
  }

  /** Takes a task out. If it was the last to finish, `finishedAtOf` tells when the others did. */
  remove(
    settled: number,
    task: TaskId,
    { bytes, finishedAt }: Share,
    finishedAtOf: (task: TaskId) => number,
  ): void {
    const segment = this.get(historySegmentOf(settled));
    if (!segment.members.delete(task)) return;
    segment.bytes -= bytes;
    if (finishedAt === segment.lastFinishedAt) {
      segment.lastFinishedAt = Math.max(0, ...Array.from(segment.members.keys(), finishedAtOf));
    }
    this.#dirty.add(segment);
  }

  member(settled: number, task: TaskId): Member | undefined {
    return this.get(historySegmentOf(settled)).members.get(task);
  }

  get(index: number): Segment {
    let segment = this.#open.get(index);
    if (segment === undefined) {
      segment = this.#readFrom(this.#file.segments, index) ?? new Segment(index);
      this.#open.set(index, segment);
    }
    return segment;
  }

  /** Inside a transaction. */
  write(): void {
    for (const segment of this.#dirty) {
      if (segment.members.size === 0) this.#file.segments.remove(numberKey(segment.index));
      else this.#writeTo(this.#file.segments, segment.index, segment);
    }
    this.#dirty = new Set();
    if (this.#open.size > openMax) this.#open = new Map();
    if (this.#trimmed.size === 0) this.#trimmed = new Map();
  }

  /** Inside a transaction: the segments up to and with this one are segments no more, but to be cleared away. */
  trimThrough(through: number): Segment[] {
    this.write();
    const segments: Segment[] = [];
    let place = lastNumber(this.#file.trimmed) + 1;
    for (const index of this.indexes(0, through)) {
      const segment = this.get(index);
      if (this.#trimmed.size < openMax) this.#trimmed.set(place, segment);
      this.#writeTo(this.#file.trimmed, place++, segment);
      this.#file.segments.remove(numberKey(index));
      this.#open.delete(index);
      segments.push(segment);
    }
    return segments;
  }

  /** Segments that were trimmed and not cleared away. */
  *trimmed(): Generator<Segment> {
    for (const key of this.#file.trimmed.keys()) {
      const segment = this.#readFrom(this.#file.trimmed, numberOfKey(key));
      if (segment !== undefined) yield segment;
    }
  }

  /** Inside a transaction: some trimmed segments, for the caller to clear away. */
  takeTrimmed(count: number): Segment[] {
    return this.#file.trimmed.keys({ limit: count }).flatMap((key) => {
      const place = numberOfKey(key);
      const segment = this.#trimmed.get(place) ?? this.#readFrom(this.#file.trimmed, place);
      this.#trimmed.delete(place);
      this.#file.trimmed.remove(key);
      return segment === undefined ? [] : [segment];
    });
  }

  /**
   * The indexes that have a record, from one on up to and with another, rising. What is not written yet is not among
   * them.
   */
  indexes(from: number, through?: number): number[] {
    const start = Buffer.from(numberKey(from));
    const range = through === undefined ? { start } : { start, end: numberKey(Math.max(0, through + 1)) };
    return Array.from(this.#file.segments.keys(range), numberOfKey);
  }

  /** The sums alone: there may be tens of thousands of segments. */
  sumsOf(index: number): HistorySegment | undefined {
    const bytes = this.#file.segments.read(numberKey(index));
    if (bytes === undefined) return undefined;
    this.#reader.begin(bytes, 0, bytes.length);
    return readSegment(this.#reader);
  }

  #readFrom(tree: Tree, place: number): Segment | undefined {
    const record = tree.read(numberKey(place));
    if (record === undefined) return undefined;
    const reader = this.#reader;
    reader.begin(record, 0, record.length);
    const { index, count, bytes, lastFinishedAt } = readSegment(reader);
    const segment = new Segment(index);
    segment.bytes = bytes;
    segment.lastFinishedAt = lastFinishedAt;
    const base = index * historySegmentSize + 1;
    let before = 0;
    for (let left = count; left > 0; left--) {
      const task = (before + unfold(reader.number())) as TaskId;
      const mark = reader.number();
      before = task;
      const place = mark >>> 1;
      segment.members.set(task, {
        task,
        settled: base + (place % historySegmentSize),
        isBundled: place >= historySegmentSize,
        hasMore: (mark & 1) === 1,
      });
    }
    reader.finish();
    return segment;
  }

  #writeTo(tree: Tree, place: number, segment: Segment): void {
    const { index, members, bytes, lastFinishedAt } = segment;
    const to = this.#writer;
    to.at = 0;
    const start = writeSegment(to, {
      index,
      count: members.size,
      bytes,
      lastFinishedAt: lastFinishedAt as WallTime,
    });
    const base = index * historySegmentSize + 1;
    let before = 0;
    for (const { task, settled, isBundled, hasMore } of members.values()) {
      // Neighbours in history are mostly neighbours by id: the way from one to the next is short.
      to.number(fold(task - before));
      const place = settled - base + (isBundled ? historySegmentSize : 0);
      to.number(place * 2 + (hasMore ? 1 : 0));
      before = task;
    }
    tree.write(numberKey(place), to.bytes, start, to.at);
  }
}

/** A difference as a number that is not negative. */
function fold(difference: number): number {
  return difference >= 0 ? difference * 2 : -difference * 2 - 1;
}

function unfold(number: number): number {
  return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
}

function lastNumber(tree: Tree): number {
  for (const key of tree.keys({ reverse: true, limit: 1 })) return numberOfKey(key);
  return 0;
}
