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
  /** Of its members, in the order they came; at the same places, the rest of what is known of each, in one number. */
  readonly tasks: TaskId[] = [];
  readonly marks: number[] = [];
  bytes = 0;
  lastFinishedAt = 0;

  constructor(index: number) {
    this.index = index;
  }

  member(at: number): Member {
    const mark = this.marks[at] as number;
    const place = mark >>> 1;
    return {
      task: this.tasks[at] as TaskId,
      settled: this.index * historySegmentSize + 1 + (place % historySegmentSize),
      isBundled: place >= historySegmentSize,
      hasMore: (mark & 1) === 1,
    };
  }

  *members(): Generator<Member> {
    for (let at = 0; at < this.tasks.length; at++) yield this.member(at);
  }

  /** Whether there is nothing of this member but what is in a bundle. */
  isOnlyBundled(at: number): boolean {
    const mark = this.marks[at] as number;
    return mark >= 2 * historySegmentSize && (mark & 1) === 0;
  }

  put(at: number, { task, settled, isBundled, hasMore }: Member): void {
    const place = settled - this.index * historySegmentSize - 1 + (isBundled ? historySegmentSize : 0);
    this.tasks[at] = task;
    this.marks[at] = place * 2 + (hasMore ? 1 : 0);
  }

  takeOut(at: number): void {
    this.tasks.splice(at, 1);
    this.marks.splice(at, 1);
  }
}

/** More than are filled at a time; the others are read again if they are wanted. */
const openMax = 8;
/** Up to so many segments are looked for one by one, which is less work than to walk over those there are. */
const lookMax = 64;

export class Segments {
  readonly #file: StoreFile;
  readonly #reader: RecordReader;
  // Made anew, never cleared: a map's former table knows the next, and one that got old and died would keep alive all
  // that was ever in those after it, until the next full collection.
  #open = new Map<number, Segment>();
  #dirty = new Set<Segment>();
  /** The one that was asked for last. */
  #last: Segment | undefined;
  /** None lies below this one. */
  #lowest = 0;
  /** Trimmed in the transaction under way. */
  #trimmed: Segment[] = [];
  /** The places of those that were trimmed before and not cleared away: from the first up to the end. */
  #trimmedPlaces: { first: number; end: number } | undefined;
  readonly #writer = new RecordWriter();

  constructor(file: StoreFile, reader: RecordReader) {
    this.#file = file;
    this.#reader = reader;
  }

  /** What was changed and not written is forgotten. */
  forget(): void {
    this.#open = new Map();
    this.#dirty = new Set();
    this.#last = undefined;
    this.#lowest = 0;
    this.#trimmed = [];
    this.#trimmedPlaces = undefined;
  }

  /** A task that is not a member of any. */
  add(member: Member, { bytes, finishedAt }: Share): void {
    const segment = this.get(historySegmentOf(member.settled));
    segment.put(segment.tasks.length, member);
    this.#sum(segment, bytes, finishedAt);
  }

  /** A member with another size, or with more than it had. */
  replace(member: Member, { bytes, finishedAt }: Share): void {
    const segment = this.get(historySegmentOf(member.settled));
    segment.put(segment.tasks.indexOf(member.task), member);
    this.#sum(segment, bytes, finishedAt);
  }

  #sum(segment: Segment, bytes: number, finishedAt: number): void {
    segment.bytes += bytes;
    if (finishedAt > segment.lastFinishedAt) segment.lastFinishedAt = finishedAt;
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
    const at = segment.tasks.indexOf(task);
    if (at < 0) return;
    segment.takeOut(at);
    segment.bytes -= bytes;
    if (finishedAt === segment.lastFinishedAt) {
      segment.lastFinishedAt = Math.max(0, ...segment.tasks.map(finishedAtOf));
    }
    this.#dirty.add(segment);
  }

  member(settled: number, task: TaskId): Member | undefined {
    const segment = this.get(historySegmentOf(settled));
    const at = segment.tasks.indexOf(task);
    return at < 0 ? undefined : segment.member(at);
  }

  get(index: number): Segment {
    if (this.#last?.index === index) return this.#last;
    const segment = this.#find(index) ?? new Segment(index);
    this.#open.set(index, segment);
    this.#last = segment;
    if (index < this.#lowest) this.#lowest = index;
    return segment;
  }

  #find(index: number): Segment | undefined {
    return this.#open.get(index) ?? this.#readFrom(this.#file.segments, index);
  }

  /** Inside a transaction. */
  write(): void {
    for (const segment of this.#dirty) {
      if (segment.tasks.length === 0) this.#file.segments.remove(numberKey(segment.index));
      else this.#writeTo(this.#file.segments, segment.index, segment);
    }
    this.#dirty = new Set();
    if (this.#open.size > openMax) {
      this.#open = new Map();
      this.#last = undefined;
    }
    if (this.#trimmed.length === 0) return;
    const places = this.#placesOfTrimmed();
    for (const segment of this.#trimmed) this.#writeTo(this.#file.trimmed, places.end++, segment);
    this.#trimmed = [];
  }

  /** Inside a transaction: the segments up to and with this one are segments no more, but to be cleared away. */
  trimThrough(through: number): Segment[] {
    const trimmed: Segment[] = [];
    for (const index of this.#indexesUpTo(through)) {
      const segment = this.#find(index);
      if (segment === undefined) continue;
      this.#open.delete(index);
      this.#dirty.delete(segment);
      this.#file.segments.remove(numberKey(index));
      if (segment.tasks.length > 0) trimmed.push(segment);
    }
    this.#last = undefined;
    this.#lowest = Math.max(this.#lowest, through + 1);
    this.#trimmed.push(...trimmed);
    return trimmed;
  }

  /** Where there may be segments, written or not. */
  #indexesUpTo(through: number): number[] {
    const count = through + 1 - this.#lowest;
    if (count <= lookMax) return Array.from({ length: Math.max(0, count) }, (_, at) => this.#lowest + at);
    this.write();
    return this.indexes(this.#lowest, through);
  }

  /** Segments that were trimmed and not cleared away. */
  *trimmed(): Generator<Segment> {
    for (const key of this.#file.trimmed.keys()) {
      const segment = this.#readFrom(this.#file.trimmed, numberOfKey(key));
      if (segment !== undefined) yield segment;
    }
  }

  /** Whether there may be such. */
  get hasTrimmed(): boolean {
    const places = this.#trimmedPlaces;
    return places === undefined || places.first < places.end || this.#trimmed.length > 0;
  }

  /** Inside a transaction: some trimmed segments, for the caller to clear away. */
  takeTrimmed(count: number): Segment[] {
    const places = this.#placesOfTrimmed();
    const taken: Segment[] = [];
    while (taken.length < count && places.first < places.end) {
      const segment = this.#readFrom(this.#file.trimmed, places.first);
      if (segment !== undefined) taken.push(segment);
      this.#file.trimmed.remove(numberKey(places.first++));
    }
    return [...taken, ...this.#trimmed.splice(0, count - taken.length)];
  }

  #placesOfTrimmed(): { first: number; end: number } {
    if (this.#trimmedPlaces === undefined) {
      const [first] = this.#file.trimmed.keys({ limit: 1 });
      const [last] = this.#file.trimmed.keys({ reverse: true, limit: 1 });
      this.#trimmedPlaces = {
        first: first === undefined ? 1 : numberOfKey(first),
        end: last === undefined ? 1 : numberOfKey(last) + 1,
      };
    }
    return this.#trimmedPlaces;
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
    let before = 0;
    for (let left = count; left > 0; left--) {
      before += unfold(reader.number());
      segment.tasks.push(before as TaskId);
      segment.marks.push(reader.number());
    }
    reader.finish();
    return segment;
  }

  #writeTo(tree: Tree, place: number, segment: Segment): void {
    const { index, tasks, marks, bytes, lastFinishedAt } = segment;
    const to = this.#writer;
    to.at = 0;
    const start = writeSegment(to, {
      index,
      count: tasks.length,
      bytes,
      lastFinishedAt: lastFinishedAt as WallTime,
    });
    let before = 0;
    for (let at = 0; at < tasks.length; at++) {
      const task = tasks[at] as TaskId;
      // Neighbours in history are mostly neighbours by id: the way from one to the next is short.
      to.number(fold(task - before));
      to.number(marks[at] as number);
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
