// The segments of history: which tasks settled in each, and the sums that a load returns. A segment
// is one record of about a kilobyte. It is written with every commit that settles a task in it; a
// full segment is not touched until it is trimmed.

import {
  type HistorySegment,
  historyLaneOf,
  historyLaneStart,
  historyLanesMax,
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
  /** True if its records are in a bundle. */
  readonly isBundled: boolean;
  /**
   * True if more must be deleted with it: a key, out-of-line bodies, or separate records of a
   * bundled task.
   */
  readonly hasExtras: boolean;
}

/** What a member contributes to its segment's sums. */
export interface MemberSums {
  readonly bytes: number;
  readonly finishedAt: WallTime | 0;
}

export class Segment {
  readonly index: number;
  /**
   * The ids of its members in the order in which they settled. `marks` has the other fields of each
   * member at the same index, packed into one number.
   */
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
      hasExtras: (mark & 1) === 1,
    };
  }

  *members(): Generator<Member> {
    for (let at = 0; at < this.tasks.length; at++) yield this.member(at);
  }

  /** True if all of this member is in its bundle. */
  isOnlyBundled(at: number): boolean {
    const mark = this.marks[at] as number;
    return mark >= 2 * historySegmentSize && (mark & 1) === 0;
  }

  put(at: number, { task, settled, isBundled, hasExtras }: Member): void {
    const place = settled - this.index * historySegmentSize - 1 + (isBundled ? historySegmentSize : 0);
    this.tasks[at] = task;
    this.marks[at] = place * 2 + (hasExtras ? 1 : 0);
  }

  remove(at: number): void {
    this.tasks.splice(at, 1);
    this.marks.splice(at, 1);
  }
}

/**
 * Maximum number of segments kept in memory: more than are filled at a time. Others are read again
 * when needed.
 */
const openMax = historyLanesMax + 8;
/** Up to this number of segments, single lookups cost less than a range scan. */
const lookMax = 64;

export class Segments {
  readonly #file: StoreFile;
  readonly #reader: RecordReader;
  // Maps and sets here are replaced, never cleared. A cleared map keeps a link from its old table
  // to the new one. Once the old table is in the old generation, everything that is ever in the new
  // one survives until the next full garbage collection.
  #open = new Map<number, Segment>();
  #dirty = new Set<Segment>();
  /** The segment used last. */
  #last: Segment | undefined;
  /** By lane: the lane has no segment below this index. */
  #lowest = new Map<number, number>();
  /** Segments trimmed in the transaction under way. */
  #trimmed: Segment[] = [];
  /** The range of keys in the tree of trimmed segments; undefined until it is read. */
  #trimmedPlaces: { first: number; end: number } | undefined;
  readonly #writer = new RecordWriter();

  constructor(file: StoreFile, reader: RecordReader) {
    this.#file = file;
    this.#reader = reader;
  }

  /** Drops all changes that were not written. */
  forget(): void {
    this.#open = new Map();
    this.#dirty = new Set();
    this.#last = undefined;
    this.#lowest = new Map();
    this.#trimmed = [];
    this.#trimmedPlaces = undefined;
  }

  /** Adds a task that is in no segment yet. */
  add(member: Member, { bytes, finishedAt }: MemberSums): void {
    const segment = this.get(historySegmentOf(member.settled));
    segment.put(segment.tasks.length, member);
    this.#sum(segment, bytes, finishedAt);
  }

  /** Replaces a member's marks. `bytes`: by how much its size changes. */
  replace(member: Member, { bytes, finishedAt }: MemberSums): void {
    const segment = this.get(historySegmentOf(member.settled));
    segment.put(segment.tasks.indexOf(member.task), member);
    this.#sum(segment, bytes, finishedAt);
  }

  #sum(segment: Segment, bytes: number, finishedAt: number): void {
    segment.bytes += bytes;
    if (finishedAt > segment.lastFinishedAt) segment.lastFinishedAt = finishedAt;
    this.#dirty.add(segment);
  }

  /** Removes a task. If it was the last to finish, `finishedAtOf` says when the others did. */
  remove(
    settled: number,
    task: TaskId,
    { bytes, finishedAt }: MemberSums,
    finishedAtOf: (task: TaskId) => number,
  ): void {
    const segment = this.get(historySegmentOf(settled));
    const at = segment.tasks.indexOf(task);
    if (at < 0) return;
    segment.remove(at);
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
    if (index < this.#lowestOf(index)) this.#lowest.set(historyLaneOf(index), index);
    return segment;
  }

  #find(index: number): Segment | undefined {
    return this.#open.get(index) ?? this.#readFrom(this.#file.segments, index);
  }

  /** Call inside a transaction. */
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

  /**
   * Call inside a transaction: removes the segments of the lane up to and including this one. Their
   * tasks' records are to be swept.
   */
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
    this.#lowest.set(historyLaneOf(through), Math.max(this.#lowestOf(through), through + 1));
    this.#trimmed.push(...trimmed);
    return trimmed;
  }

  /** The indexes at which there may be segments, written or not. */
  #indexesUpTo(through: number): number[] {
    const lowest = this.#lowestOf(through);
    const count = through + 1 - lowest;
    if (count <= lookMax) return Array.from({ length: Math.max(0, count) }, (_, at) => lowest + at);
    this.write();
    return this.indexes(lowest, through);
  }

  #lowestOf(index: number): number {
    return this.#lowest.get(historyLaneOf(index)) ?? historyLaneStart(index);
  }

  /** Segments that were trimmed and not swept. */
  *trimmed(): Generator<Segment> {
    for (const key of this.#file.trimmed.keys()) {
      const segment = this.#readFrom(this.#file.trimmed, numberOfKey(key));
      if (segment !== undefined) yield segment;
    }
  }

  /** True if there may be trimmed segments to sweep. */
  get hasTrimmed(): boolean {
    const places = this.#trimmedPlaces;
    return places === undefined || places.first < places.end || this.#trimmed.length > 0;
  }

  /**
   * Call inside a transaction: removes some trimmed segments from the list. The caller must delete
   * their tasks' records.
   */
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

  /** The indexes of written segments from `from` to `through`, inclusive, rising. */
  indexes(from: number, through?: number): number[] {
    const start = Buffer.from(numberKey(from));
    const range = through === undefined ? { start } : { start, end: numberKey(Math.max(0, through + 1)) };
    return Array.from(this.#file.segments.keys(range), numberOfKey);
  }

  /** The sums without the members: there may be tens of thousands of segments. */
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
      // Differences of ids, because neighbours in history are mostly neighbours by id: small
      // numbers take one byte.
      to.number(fold(task - before));
      to.number(marks[at] as number);
      before = task;
    }
    tree.write(numberKey(place), to.bytes, start, to.at);
  }
}

/** Maps a difference to a number that is not negative. */
function fold(difference: number): number {
  return difference >= 0 ? difference * 2 : -difference * 2 - 1;
}

function unfold(number: number): number {
  return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
}
