// Where the two records of a task are stored: under the task's own keys, or in a bundle with
// others. New tasks are held until the end of the transaction, when it is known which of them have
// settled: those go into bundles.

import type { StoredTask, TaskId } from "@yardmaster/core";
import type { Place } from "../durable/batches.js";
import {
  type HeadSum,
  type ProgressSum,
  type RecordReader,
  type RecordWriter,
  readHead,
  readProgress,
  sumHead,
  sumProgress,
} from "../records/index.js";
import { Bundles, copyOf, fitsBundle, type TaskPlaces } from "./bundles.js";
import { numberKey } from "./keys.js";
import type { StoreFile } from "./store-file.js";
import type { Tree } from "./tree.js";

/**
 * The head sums of at least this many recent tasks are kept in memory, so that settling them need
 * not read their heads.
 */
const recentMin = 16_384;

/** A task that was submitted in the transaction under way. */
interface NewTask {
  readonly task: TaskId;
  readonly head: Place;
  readonly sum: HeadSum;
  progress: Place | undefined;
  isSettled: boolean;
}

export class TaskRecords {
  readonly #file: StoreFile;
  readonly #reader: RecordReader;
  readonly #isSettled: (task: TaskId) => boolean;
  readonly bundles: Bundles;
  /** By rising id. Replaced, never cleared (segments.ts says why). */
  #newTasks = new Map<TaskId, NewTask>();
  /** Head sums of the latest tasks, and of those before them. Replaced, never cleared. */
  #recent = new Map<TaskId, HeadSum>();
  #lessRecent = new Map<TaskId, HeadSum>();
  #recentAdded = 0;

  constructor(file: StoreFile, reader: RecordReader, isSettled: (task: TaskId) => boolean) {
    this.#file = file;
    this.#reader = reader;
    this.#isSettled = isSettled;
    this.bundles = new Bundles(file);
  }

  task(task: TaskId): StoredTask | undefined {
    const head = this.#read(this.#headOf(task), readHead);
    return head && { head, progress: this.#read(this.#progressOf(task), readProgress) };
  }

  head(task: TaskId): HeadSum | undefined {
    return this.#read(this.#headOf(task), sumHead);
  }

  progress(task: TaskId): ProgressSum | undefined {
    return this.#read(this.#progressOf(task), sumProgress);
  }

  /** Writes both records, each behind its length. Returns false if there are none. */
  copyTo(to: RecordWriter, task: TaskId): boolean {
    const head = placeOf(this.#file.heads.read(numberKey(task)));
    if (head !== undefined) {
      writeFramed(to, head);
      writeFramed(to, placeOf(this.#file.progress.read(numberKey(task))));
      return true;
    }
    const bundled = this.#bundled(task);
    if (bundled === undefined) return false;
    writeFramed(to, bundled.head);
    writeFramed(to, bundled.progress);
    return true;
  }

  /** The head's sums, for history. They are dropped from memory, because a task settles once. */
  takeHead(task: TaskId): HeadSum {
    const fresh = this.#newTasks.get(task);
    if (fresh !== undefined) return fresh.sum;
    const recent = this.#recent.get(task) ?? this.#lessRecent.get(task);
    if (recent === undefined) return this.knownHead(task);
    this.#recent.delete(task);
    this.#lessRecent.delete(task);
    return recent;
  }

  knownHead(task: TaskId): HeadSum {
    const head = this.head(task);
    if (head === undefined) throw new Error(`task ${task} is in the index and has no head`);
    return head;
  }

  /** Adds a task whose id is greater than all before. */
  add(head: Place, sum: HeadSum): void {
    this.#newTasks.set(sum.id, { task: sum.id, head, sum, progress: undefined, isSettled: false });
  }

  putHead(head: Place, sum: HeadSum): void {
    this.#newTasks.delete(sum.id);
    this.#write(this.#file.heads, sum.id, head);
    this.#keep(sum);
  }

  putProgress(task: TaskId, progress: Place): void {
    const fresh = this.#newTasks.get(task);
    if (fresh?.isSettled === false) {
      fresh.progress = progress;
      return;
    }
    if (fresh !== undefined || this.#isSettled(task)) this.storeSeparately(task);
    this.#write(this.#file.progress, task, progress);
  }

  /**
   * Like `putProgress`, for the record with which a task settles. Returns true if the task goes
   * into a bundle; `mayBundle`: it is allowed to.
   */
  settle(task: TaskId, progress: Place, mayBundle: boolean): boolean {
    const fresh = this.#newTasks.get(task);
    const isBundled = mayBundle && fresh !== undefined && fitsBundle(fresh.head, progress);
    // Every settled task that is still held at the end goes into a bundle, so this one must not be
    // held.
    if (fresh !== undefined && !isBundled) this.storeSeparately(task);
    this.putProgress(task, progress);
    if (isBundled) fresh.isSettled = true;
    return isBundled;
  }

  /** True if it was submitted in this transaction and has not settled. */
  isUnsettled(task: TaskId): boolean {
    return this.#newTasks.get(task)?.isSettled === false;
  }

  /**
   * Stores a task's records under its own keys, because one of them is about to change and bundles
   * never change.
   */
  storeSeparately(task: TaskId): void {
    const fresh = this.#newTasks.get(task);
    if (fresh !== undefined) {
      this.#newTasks.delete(task);
      this.#writeSeparately(fresh);
      this.#keep(fresh.sum);
    } else if (!this.#file.heads.has(numberKey(task))) {
      const bundled = this.#bundled(task);
      if (bundled !== undefined) this.#writeSeparately(copyOf(bundled));
    }
  }

  removeSeparate(task: TaskId): void {
    this.#file.heads.remove(numberKey(task));
    this.#file.progress.remove(numberKey(task));
  }

  /** Writes everything that was held for the end of the transaction. */
  write(): void {
    const settled: TaskPlaces[] = [];
    for (const fresh of this.#newTasks.values()) {
      if (fresh.isSettled) settled.push(fresh as TaskPlaces);
      else {
        this.#writeSeparately(fresh);
        this.#keep(fresh.sum);
      }
    }
    this.#newTasks = new Map();
    this.bundles.write(settled);
  }

  /** Drops everything that was not written. */
  forget(): void {
    this.bundles.forget();
    this.#newTasks = new Map();
    this.#recent = new Map();
    this.#lessRecent = new Map();
  }

  #keep(head: HeadSum): void {
    if (++this.#recentAdded > recentMin) {
      this.#lessRecent = this.#recent;
      this.#recent = new Map();
      this.#recentAdded = 0;
    }
    this.#recent.set(head.id, head);
  }

  #headOf(task: TaskId): Place | undefined {
    const held = this.#newTasks.get(task)?.head;
    return held ?? placeOf(this.#file.heads.read(numberKey(task))) ?? this.#bundled(task)?.head;
  }

  #progressOf(task: TaskId): Place | undefined {
    const held = this.#newTasks.get(task)?.progress;
    return held ?? placeOf(this.#file.progress.read(numberKey(task))) ?? this.#bundled(task)?.progress;
  }

  #read<Value>(place: Place | undefined, read: (from: RecordReader) => Value): Value | undefined {
    if (place === undefined) return undefined;
    this.#reader.begin(place.bytes, place.start, place.end);
    return read(this.#reader);
  }

  /** Only settled tasks are in bundles. */
  #bundled(task: TaskId): TaskPlaces | undefined {
    return this.#isSettled(task) ? this.bundles.find(task) : undefined;
  }

  #writeSeparately({ task, head, progress }: Pick<NewTask, "task" | "head" | "progress">): void {
    this.#write(this.#file.heads, task, head);
    if (progress !== undefined) this.#write(this.#file.progress, task, progress);
  }

  #write(tree: Tree, task: TaskId, { bytes, start, end }: Place): void {
    tree.write(numberKey(task), bytes, start, end);
  }
}

function placeOf(bytes: Buffer | undefined): Place | undefined {
  return bytes && { bytes, start: 0, end: bytes.length };
}

function writeFramed(to: RecordWriter, place: Place | undefined): void {
  to.reserve(4);
  to.at = to.bytes.writeUInt32LE(place === undefined ? 0 : place.end - place.start, to.at);
  if (place !== undefined) to.copy(place.bytes, place.start, place.end);
}
