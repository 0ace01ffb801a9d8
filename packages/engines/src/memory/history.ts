// The settled tasks by segment of history, as packed bytes. As objects, tens of thousands of them
// would be copied and marked by the garbage collector repeatedly, which cost more than everything
// else about a task. The sums for `load` are kept with them, so that neither loading nor evicting
// visits single tasks.

import {
  type Body,
  type HistorySegment,
  historyLaneStart,
  historySegmentOf,
  historySegmentSize,
  type StoredTask,
  storedBytes,
  type TaskHead,
  type TaskId,
  type TaskProgress,
  type WallTime,
} from "@yardmaster/core";
import { raise } from "../lane-marks.js";
import {
  RecordReader,
  RecordWriter,
  readHead,
  readProgress,
  writeHead,
  writeProgress,
} from "../records/index.js";
import { OrderedMap } from "./ordered-map.js";

/** Larger bodies are not copied: they are few objects with many bytes. */
const packedBodyBytesMax = 4096;
/** About the size of a segment of small tasks. */
const segmentBytes = 65_536;
/** A full segment that uses less of its buffer than this share gets a smaller one. */
const usedShareMin = 0.5;
/**
 * Number of buffers of evicted segments that are kept for new ones: new memory makes the garbage
 * collector run sooner.
 */
const sparesMax = 16;

/** Copies, because a buffer may be reused while what was read from it is still in use. */
const reader = new RecordReader({ copies: true });

class Segment {
  /** By position; undefined for an empty position. */
  readonly ids: (TaskId | undefined)[] = [];
  /**
   * For each position: the beginning of the head, the beginning of the progress, and the end of
   * both.
   */
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

  /** The buffer into which it was written. Nothing is read from it any more. */
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

  /**
   * Its bytes stay until the segment is evicted. `isReplaced`: it is put again with the same
   * finishing time.
   */
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
  readonly lastSettled: number[] = [0];

  enter(head: TaskHead, progress: TaskProgress): void {
    const { settled } = progress;
    const index = historySegmentOf(settled);
    let segment = this.#segments.get(index);
    if (!segment) {
      segment = new Segment(this.#spares.pop());
      this.#segments.set(index, segment);
    }
    segment.put(placeOf(settled), head, progress);
    raise(this.lastSettled, settled);
  }

  /** The position must be occupied. */
  read(settled: number): StoredTask {
    return (this.#segments.get(historySegmentOf(settled)) as Segment).read(placeOf(settled));
  }

  /**
   * Removes a task whose record is about to be replaced: a put is absolute, so its sums are
   * computed again.
   */
  leave(settled: number, isReplaced = false): void {
    const index = historySegmentOf(settled);
    const segment = this.#segments.get(index);
    segment?.remove(placeOf(settled), isReplaced);
    if (segment?.count === 0) this.#segments.delete(index);
  }

  /** Evicts the segments up to and including this one, and returns their tasks. */
  takeThrough(index: number): TaskId[] {
    return this.#segments.takeRange(historyLaneStart(index), index).flatMap(({ ids, buffer }) => {
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

/** False for a buffer that a few large tasks made grow. */
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
