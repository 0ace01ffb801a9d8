// The segments of history: which tasks settled in each, and the sums that `load` gives. A segment is one record, written
// again with every commit that settles into it; those that filled up are not touched until they are trimmed.

import { type HistorySegment, historySegmentOf, type TaskId, type WallTime } from "@yardmaster/core";
import { type RecordReader, RecordWriter, readSegment, writeSegment } from "../records/index.js";
import { numberKey, numberOfKey } from "./keys.js";
import type { StoreFile } from "./store-file.js";
import type { Tree } from "./tree.js";

export interface Member {
  readonly task: TaskId;
  readonly settled: number;
  /** It has more than its two records: a key, or bodies that lie apart. */
  readonly hasMore: boolean;
  readonly bytes: number;
  readonly finishedAt: WallTime | 0;
}

export class Segment {
  readonly index: number;
  /** By task. */
  readonly members = new Map<TaskId, Member>();

  constructor(index: number) {
    this.index = index;
  }

  get sums(): HistorySegment {
    let bytes = 0;
    let lastFinishedAt = 0;
    for (const member of this.members.values()) {
      bytes += member.bytes;
      if (member.finishedAt > lastFinishedAt) lastFinishedAt = member.finishedAt;
    }
    return { index: this.index, count: this.members.size, bytes, lastFinishedAt: lastFinishedAt as WallTime };
  }
}

/** More than are filled at a time; the others are read again if they are wanted. */
const openMax = 8;

export class Segments {
  readonly #file: StoreFile;
  readonly #reader: RecordReader;
  readonly #open = new Map<number, Segment>();
  readonly #dirty = new Set<Segment>();
  readonly #writer = new RecordWriter();

  constructor(file: StoreFile, reader: RecordReader) {
    this.#file = file;
    this.#reader = reader;
  }

  /** What was changed and not written is forgotten. */
  forget(): void {
    this.#open.clear();
    this.#dirty.clear();
  }

  add(member: Member): void {
    const segment = this.get(historySegmentOf(member.settled));
    segment.members.set(member.task, member);
    this.#dirty.add(segment);
  }

  remove(settled: number, task: TaskId): void {
    const segment = this.get(historySegmentOf(settled));
    if (segment.members.delete(task)) this.#dirty.add(segment);
  }

  get(index: number): Segment {
    let segment = this.#open.get(index);
    if (segment === undefined) {
      segment = this.#readFrom(this.#file.segments, index);
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
    this.#dirty.clear();
    if (this.#open.size > openMax) this.#open.clear();
  }

  /** Inside a transaction: the segments up to and with this one are segments no more, but to be cleared away. */
  trimThrough(through: number): Segment[] {
    this.write();
    const segments: Segment[] = [];
    let place = lastNumber(this.#file.trimmed) + 1;
    for (const index of this.indexes(0, through)) {
      const segment = this.get(index);
      this.#writeTo(this.#file.trimmed, place++, segment);
      this.#file.segments.remove(numberKey(index));
      this.#open.delete(index);
      segments.push(segment);
    }
    return segments;
  }

  /** Segments that were trimmed and not cleared away. */
  *trimmed(): Generator<Segment> {
    for (const key of this.#file.trimmed.keys()) yield this.#readFrom(this.#file.trimmed, numberOfKey(key));
  }

  /** Inside a transaction: some trimmed segments, for the caller to clear away. */
  takeTrimmed(count: number): Segment[] {
    return [...this.#file.trimmed.keys({ limit: count })].map((key) => {
      const segment = this.#readFrom(this.#file.trimmed, numberOfKey(key));
      this.#file.trimmed.remove(key);
      return segment;
    });
  }

  /** The indexes that have a record, from one on up to and with another, rising. What is not written yet is not among them. */
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

  #readFrom(tree: Tree, place: number): Segment {
    const bytes = tree.read(numberKey(place));
    if (bytes === undefined) return new Segment(place);
    const reader = this.#reader;
    reader.begin(bytes, 0, bytes.length);
    const { index, count } = readSegment(reader);
    const segment = new Segment(index);
    for (let left = count; left > 0; left--) {
      const task = reader.number() as TaskId;
      const settled = reader.number();
      const hasMore = reader.byte() === 1;
      const size = reader.number();
      const finishedAt = reader.number() as WallTime;
      segment.members.set(task, { task, settled, hasMore, bytes: size, finishedAt });
    }
    reader.finish();
    return segment;
  }

  #writeTo(tree: Tree, place: number, segment: Segment): void {
    const to = this.#writer;
    to.at = 0;
    const start = writeSegment(to, segment.sums);
    for (const { task, settled, hasMore, bytes, finishedAt } of segment.members.values()) {
      to.number(task);
      to.number(settled);
      to.byte(hasMore ? 1 : 0);
      to.number(bytes);
      to.number(finishedAt);
    }
    tree.write(numberKey(place), to.bytes, start, to.at);
  }
}

function lastNumber(tree: Tree): number {
  for (const key of tree.keys({ reverse: true, limit: 1 })) return numberOfKey(key);
  return 0;
}
