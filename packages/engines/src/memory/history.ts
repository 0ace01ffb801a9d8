// The settled tasks, by segment of history, as packed bytes: kept as objects, tens of thousands of them would be copied
// and marked by the collector over and over, which cost more than all the rest of a task. With them the sums that `load`
// gives, so that neither loading nor trimming looks at a task it does not have to.

import {
  type Body,
  type HistorySegment,
  historySegmentOf,
  historySegmentSize,
  type StoredTask,
  storedBytes,
  type TaskHead,
  type TaskId,
  type TaskProgress,
  type WallTime,
} from "@yardmaster/core";
import {
  RecordReader,
  RecordWriter,
  readHead,
  readProgress,
  writeHead,
  writeProgress,
} from "../records/index.js";
import { OrderedMap } from "./ordered-map.js";

/** Larger bodies are not copied: they are few objects for many bytes. */
const packedBodyBytesMax = 4096;
/** About what a segment of small tasks takes. */
const segmentBytes = 65_536;
/** A full segment that uses less of its buffer than this share gets a smaller one. */
const usedShareMin = 0.5;
/** Buffers of segments that were let go of and are kept for new ones: new memory brings the collector's next round nearer. */
const sparesMax = 16;

/** Copies: a buffer may be used again while somebody still looks at what was read from it. */
const reader = new RecordReader({ copies: true });

class Segment {
  /** By place; undefined where nobody is. */
  readonly ids: (TaskId | undefined)[] = [];
  /** Of each place: where its head begins, its progress begins, and both end. */
  readonly #bounds = new Uint32Array(historySegmentSize * 3);
  readonly #writer: RecordWriter;
  #large: Map<number, { readonly payload: Body; readonly result: Body | undefined }> | undefined;
  count = 0;
  bytes = 0;
  lastFinishedAt = 0 as WallTime;

  constructor(spare: ArrayBuffer | undefined) {
    const memory = spare === undefined ? { size: segmentBytes } : { buffer: spare };
    this.#writer = new RecordWriter({ bodyBytesMax: packedBodyBytesMax, ...memory });
  }

  /** What it was written into; nothing is read from it any more. */
  get buffer(): ArrayBuffer {
    return this.#writer.bytes.buffer;
  }

  put(place: number, head: TaskHead, progress: TaskProgress): void {
    this.ids[place] = head.id;
    const bound = place * 3;
    this.#bounds[bound] = writeHead(this.#writer, head);
    this.#bounds[bound + 1] = writeProgress(this.#writer, progress);
    this.#bounds[bound + 2] = this.#writer.at;
    if (isLarge(head.payload) || isLarge(progress.result)) {
      this.#large ??= new Map();
      this.#large.set(place, { payload: head.payload, result: progress.result });
    }
    this.count += 1;
    this.bytes += storedBytes(head, progress.result);
    this.lastFinishedAt = laterOf(this.lastFinishedAt, progress.finishedAt);
    const { at, bytes } = this.#writer;
    if (this.count === historySegmentSize && at < bytes.length * usedShareMin) this.#writer.shrink();
  }

  read(place: number): StoredTask {
    const { bytes } = this.#writer;
    const bound = place * 3;
    const [start, middle, end] = this.#bounds.subarray(bound, bound + 3) as unknown as [
      number,
      number,
      number,
    ];
    reader.begin(bytes, start, middle);
    const head = readHead(reader);
    reader.begin(bytes, middle, end);
    const progress = readProgress(reader);
    const large = this.#large?.get(place);
    if (large === undefined) return { head, progress };
    return { head: { ...head, payload: large.payload }, progress: { ...progress, result: large.result } };
  }

  /** Its bytes stay where they are until the segment goes. `isReplaced`: it comes back, having finished when it had. */
  remove(place: number, isReplaced: boolean): void {
    const { head, progress } = this.read(place);
    this.ids[place] = undefined;
    this.#large?.delete(place);
    this.count -= 1;
    this.bytes -= storedBytes(head, progress?.result);
    if (isReplaced) return;
    this.lastFinishedAt = 0 as WallTime;
    this.ids.forEach((id, other) => {
      if (id !== undefined)
        this.lastFinishedAt = laterOf(this.lastFinishedAt, this.read(other).progress?.finishedAt);
    });
  }
}

export class History {
  readonly #segments = new OrderedMap<Segment>();
  readonly #spares: ArrayBuffer[] = [];
  lastSettled = 0;

  enter(head: TaskHead, progress: TaskProgress): void {
    const { settled } = progress;
    const index = historySegmentOf(settled);
    let segment = this.#segments.get(index);
    if (!segment) {
      segment = new Segment(this.#spares.pop());
      this.#segments.set(index, segment);
    }
    segment.put(placeOf(settled), head, progress);
    if (settled > this.lastSettled) this.lastSettled = settled;
  }

  /** Only of a place in history that somebody has. */
  read(settled: number): StoredTask {
    return (this.#segments.get(historySegmentOf(settled)) as Segment).read(placeOf(settled));
  }

  /** Takes a task out whose record is about to be replaced: a put is absolute, so its sums are made anew. */
  leave(settled: number, isReplaced = false): void {
    const index = historySegmentOf(settled);
    const segment = this.#segments.get(index);
    segment?.remove(placeOf(settled), isReplaced);
    if (segment?.count === 0) this.#segments.delete(index);
  }

  /** Forgets the segments up to and with this one, and says which tasks were in them. */
  takeThrough(index: number): TaskId[] {
    return this.#segments.takeThrough(index).flatMap(({ ids, buffer }) => {
      if (this.#spares.length < sparesMax && isUsualSize(buffer)) this.#spares.push(buffer);
      return ids.filter((id) => id !== undefined);
    });
  }

  /** By rising index. */
  *segments(): Generator<HistorySegment> {
    for (const [index, { count, bytes, lastFinishedAt }] of this.#segments.entries()) {
      yield { index, count, bytes, lastFinishedAt };
    }
  }
}

/** Not one that a few large tasks made grow. */
function isUsualSize({ byteLength }: ArrayBuffer): boolean {
  return byteLength >= segmentBytes && byteLength <= 2 * segmentBytes;
}

function placeOf(settled: number): number {
  return (settled - 1) % historySegmentSize;
}

function isLarge(body: Body | undefined): boolean {
  return body?.bytes !== undefined && body.size > packedBodyBytesMax;
}

function laterOf(one: WallTime, other: WallTime | undefined): WallTime {
  return other !== undefined && other > one ? other : one;
}
