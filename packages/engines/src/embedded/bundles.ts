// Bundles: records that hold several tasks each, which were submitted and settled in one
// transaction. On a busy dispatcher that is nearly all tasks. Two records per task would mean two
// writes and later two deletes, more work for the store than everything else.
//
// A bundle never changes. A changed record of one of its tasks is stored under that task's own key
// and overrides the bundle. A bundle is deleted when none of its tasks is kept. Transactions have
// disjoint ranges of new ids, so bundles do not overlap.

import type { TaskId } from "@yardmaster/core";
import type { Place } from "../durable/batches.js";
import { RecordReader } from "../records/index.js";
import { bundleKey, idMax, tasksOfBundle } from "./keys.js";
import type { StoreFile } from "./store-file.js";

export interface TaskPlaces {
  readonly task: TaskId;
  readonly head: Place;
  readonly progress: Place;
}

/**
 * With its header and LMDB's, a bundle fills two pages. It is small because one flipped bit makes
 * all of it unreadable.
 */
const bundleBytesMax = 8000;

/** Larger tasks are stored separately. */
const bundledBytesMax = 2000;

/**
 * Gaps between ids up to this size do not split a range: scanning over them costs less than another
 * range scan.
 */
const gapMax = 256;

/** A record inside a bundle has no CRC of its own. */
const crcBytes = 4;

export function fitsBundle(head: Place, progress: Place): boolean {
  return head.end - head.start + progress.end - progress.start <= bundledBytesMax;
}

interface ReadBundle {
  readonly first: number;
  readonly last: number;
  readonly tasks: ReadonlyMap<TaskId, TaskPlaces>;
}

const nothingRead: ReadBundle = { first: 0, last: -1, tasks: new Map() };

export class Bundles {
  readonly #file: StoreFile;
  readonly #reader = new RecordReader();
  /** The bundle read last: neighbouring tasks are often read together. */
  #read: ReadBundle = nothingRead;

  constructor(file: StoreFile) {
    this.#file = file;
  }

  /** Call inside a transaction. The tasks come by rising id. */
  write(tasks: readonly TaskPlaces[]): void {
    this.forget();
    let first = 0;
    let size = 0;
    for (let at = 0; at < tasks.length; at++) {
      const { head, progress } = tasks[at] as TaskPlaces;
      const more = head.end - head.start + progress.end - progress.start;
      if (size + more > bundleBytesMax) {
        this.#writeOne(tasks, first, at);
        first = at;
        size = 0;
      }
      size += more;
    }
    this.#writeOne(tasks, first, tasks.length);
  }

  /** A task's records, if it is in a bundle. Throws BadRecord. */
  find(task: TaskId): TaskPlaces | undefined {
    if (task < this.#read.first || task > this.#read.last) {
      const key = this.#keyOf(task);
      if (key === undefined) return undefined;
      const tasks = new Map(this.#tasksAt(key).map((places) => [places.task, places]));
      this.#read = { ...tasksOfBundle(key), tasks };
    }
    return this.#read.tasks.get(task);
  }

  /** Drops the bundle read last. */
  forget(): void {
    this.#read = nothingRead;
  }

  /** Every task of every bundle. Throws BadRecord. */
  *all(): Generator<TaskPlaces> {
    for (const key of this.#file.bundles.keys()) yield* this.#tasksAt(key);
  }

  /**
   * Call inside a transaction: deletes the bundles that contain these tasks, if none of their tasks
   * is kept. The last one kept may be stored separately.
   */
  clear(tasks: readonly TaskId[], isAnyKept: (first: TaskId, last: TaskId) => boolean): void {
    this.forget();
    const sorted = Float64Array.from(tasks).sort() as ArrayLike<number> as ArrayLike<TaskId>;
    for (let from = 0, to = 0; from < sorted.length; from = to) {
      for (to = from + 1; to < sorted.length; to++) {
        if ((sorted[to] as TaskId) - (sorted[to - 1] as TaskId) > gapMax) break;
      }
      for (const key of this.#keysFor(sorted[from] as TaskId, sorted[to - 1] as TaskId)) {
        const { first, last } = tasksOfBundle(key);
        if (!isAnyKept(first, last)) this.#file.bundles.remove(key);
      }
    }
  }

  #writeOne(tasks: readonly TaskPlaces[], from: number, to: number): void {
    if (from === to) return;
    const first = tasks[from] as TaskPlaces;
    const last = tasks[to - 1] as TaskPlaces;
    this.#file.bundles.put(bundleKey(first.task, last.task), (writer) => {
      writer.number(to - from);
      let before = 0;
      for (let at = from; at < to; at++) {
        const { task, head, progress } = tasks[at] as TaskPlaces;
        writer.number(task - before);
        writer.number(head.end - head.start - crcBytes);
        writer.number(progress.end - progress.start - crcBytes);
        before = task;
      }
      for (let at = from; at < to; at++) {
        const { head, progress } = tasks[at] as TaskPlaces;
        writer.copy(head.bytes, head.start + crcBytes, head.end);
        writer.copy(progress.bytes, progress.start + crcBytes, progress.end);
      }
    });
  }

  /** The key of the bundle whose range contains this task. */
  #keyOf(task: TaskId): Buffer | undefined {
    const [key] = this.#file.bundles.keys({ start: bundleKey(task, idMax), reverse: true, limit: 1 });
    return key !== undefined && tasksOfBundle(key).last >= task ? key : undefined;
  }

  /** The keys of the bundles whose ranges overlap this one. */
  #keysFor(first: TaskId, last: TaskId): Buffer[] {
    const before = this.#keyOf(first);
    const start = before === undefined ? first : tasksOfBundle(before).last + 1;
    const keys = this.#file.bundles.keys({ start: bundleKey(start, 0), end: bundleKey(last + 1, 0) });
    return before === undefined ? keys : [before, ...keys];
  }

  /** The tasks of a bundle, in a copy: LMDB's buffer is valid until the next read. */
  #tasksAt(key: Buffer): TaskPlaces[] {
    const read = this.#file.bundles.read(key);
    if (read === undefined) return [];
    const bytes = Buffer.allocUnsafeSlow(read.length);
    bytes.set(read.subarray(0, read.length));
    const reader = this.#reader;
    reader.begin(bytes, 0, bytes.length);
    const lengths: { task: number; head: number; progress: number }[] = [];
    let task = 0;
    for (let left = reader.number(); left > 0; left--) {
      task += reader.number();
      lengths.push({ task, head: reader.number(), progress: reader.number() });
    }
    let { at } = reader;
    const place = (length: number): Place => {
      at += length;
      return { bytes, start: at - length - crcBytes, end: at };
    };
    return lengths.map((each) => ({
      task: each.task as TaskId,
      head: place(each.head),
      progress: place(each.progress),
    }));
  }
}

/**
 * Copies both records into buffers of their own, because writing one fills in a CRC in front of it.
 */
export function copyOf({ task, head, progress }: TaskPlaces): TaskPlaces {
  return { task, head: copyOfPlace(head), progress: copyOfPlace(progress) };
}

function copyOfPlace({ bytes, start, end }: Place): Place {
  const copy = Buffer.allocUnsafeSlow(end - start);
  copy.set(bytes.subarray(start, end));
  return { bytes: copy, start: 0, end: copy.length };
}
