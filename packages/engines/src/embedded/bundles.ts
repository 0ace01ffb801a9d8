// Tasks that came and settled in one transaction, several in one record: on a busy dispatcher that is nearly all. Two
// records each would be two entries to put and two to take out again, more work for the store than all the rest.
//
// A bundle is never changed. What is put again of one of its tasks becomes records of that task's own, which go before
// the bundle's; a bundle goes when none of its tasks is kept. The tasks of one transaction have ids that no other's have,
// so bundles do not overlap.

import type { TaskId } from "@yardmaster/core";
import { RecordReader } from "../records/index.js";
import type { Place } from "./batches.js";
import { bundleKey, idMax, tasksOfBundle } from "./keys.js";
import type { StoreFile } from "./store-file.js";

export interface TaskPlaces {
  readonly task: TaskId;
  readonly head: Place;
  readonly progress: Place;
}

/** With its header and LMDB's it fills two pages: what one flipped bit makes unreadable should be little. */
const bundleBytesMax = 8000;

/** What is larger has records of its own. */
const bundledBytesMax = 2000;

/** Bundles in such a gap between two ids are looked at as well: that is less work than to look for the next. */
const gapMax = 256;

/** A CRC of its own a record in a bundle does not have. */
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
  /** The bundle that was read last. */
  #read: ReadBundle = nothingRead;

  constructor(file: StoreFile) {
    this.#file = file;
  }

  /** Inside a transaction: these tasks, by rising id. */
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

  /** Where a task's records can be read, if it is in a bundle. Throws BadRecord. */
  find(task: TaskId): TaskPlaces | undefined {
    // Whoever looks for many looks for neighbours.
    if (task < this.#read.first || task > this.#read.last) {
      const key = this.#keyOf(task);
      if (key === undefined) return undefined;
      const tasks = new Map(this.#tasksAt(key).map((places) => [places.task, places]));
      this.#read = { ...tasksOfBundle(key), tasks };
    }
    return this.#read.tasks.get(task);
  }

  /** What was read is not to be relied on. */
  forget(): void {
    this.#read = nothingRead;
  }

  /** Every task of every bundle. Throws BadRecord. */
  *all(): Generator<TaskPlaces> {
    for (const key of this.#file.bundles.keys()) yield* this.#tasksAt(key);
  }

  /**
   * Inside a transaction: the bundles whose ranges these tasks lie in go, as far as nothing there is kept. The last that
   * was may have records of its own.
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

  /** The key of the bundle whose range this task is in. */
  #keyOf(task: TaskId): Buffer | undefined {
    const [key] = this.#file.bundles.keys({ start: bundleKey(task, idMax), reverse: true, limit: 1 });
    return key !== undefined && tasksOfBundle(key).last >= task ? key : undefined;
  }

  /** The keys of the bundles whose ranges meet this one. */
  #keysFor(first: TaskId, last: TaskId): Buffer[] {
    const before = this.#keyOf(first);
    const start = before === undefined ? first : tasksOfBundle(before).last + 1;
    const keys = this.#file.bundles.keys({ start: bundleKey(start, 0), end: bundleKey(last + 1, 0) });
    return before === undefined ? keys : [before, ...keys];
  }

  /** In a buffer of our own: what LMDB reads is good until the next read. */
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

/** The records in buffers of their own: to write one means to put a CRC in front of it. */
export function copyOf({ task, head, progress }: TaskPlaces): TaskPlaces {
  return { task, head: copyOfPlace(head), progress: copyOfPlace(progress) };
}

function copyOfPlace({ bytes, start, end }: Place): Place {
  const copy = Buffer.allocUnsafeSlow(end - start);
  copy.set(bytes.subarray(start, end));
  return { bytes: copy, start: 0, end: copy.length };
}
