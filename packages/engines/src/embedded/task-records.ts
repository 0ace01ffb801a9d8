// Where the two records of a task lie: under its own keys, or in a bundle with others. What comes in a transaction is
// held until its end, when it is known which tasks have settled already: those go into bundles.

import type { StoredTask, TaskId } from "@yardmaster/core";
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
import type { Place } from "./batches.js";
import { Bundles, copyOf, fitsBundle, type TaskPlaces } from "./bundles.js";
import { numberKey } from "./keys.js";
import type { StoreFile } from "./store-file.js";
import type { Tree } from "./tree.js";

/** Of at least so many tasks history's sums need no second look at the head; those that wait longer are read again. */
const recentMin = 16_384;

/** A task that came in the transaction under way. */
interface Fresh {
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
  /** By rising id. Made anew, never cleared (segments.ts says why). */
  #fresh = new Map<TaskId, Fresh>();
  /** Of tasks accepted lately, and of those before: what history will need of their heads. Made anew as well. */
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

  /** Writes both records as they are, each behind its length; whether there are any. */
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

  /** What history needs of a head, once. */
  takeHead(task: TaskId): HeadSum {
    const fresh = this.#fresh.get(task);
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

  /** A task that was never there, later than all that were. */
  add(head: Place, sum: HeadSum): void {
    this.#fresh.set(sum.id, { task: sum.id, head, sum, progress: undefined, isSettled: false });
  }

  putHead(head: Place, sum: HeadSum): void {
    this.#fresh.delete(sum.id);
    this.#write(this.#file.heads, sum.id, head);
    this.#keep(sum);
  }

  putProgress(task: TaskId, progress: Place): void {
    const fresh = this.#fresh.get(task);
    if (fresh?.isSettled === false) {
      fresh.progress = progress;
      return;
    }
    if (fresh !== undefined || this.#isSettled(task)) this.giveOwn(task);
    this.#write(this.#file.progress, task, progress);
  }

  /** As `putProgress`, with the one that a task settles with; whether it goes into a bundle, if it may. */
  settle(task: TaskId, progress: Place, mayBundle: boolean): boolean {
    const fresh = this.#fresh.get(task);
    const isBundled = mayBundle && fresh !== undefined && fitsBundle(fresh.head, progress);
    // What is held at the end and has settled is bundled: the others do not wait for it.
    if (fresh !== undefined && !isBundled) this.giveOwn(task);
    this.putProgress(task, progress);
    if (isBundled) fresh.isSettled = true;
    return isBundled;
  }

  /** Whether it came in this transaction and has not settled. */
  isUnsettled(task: TaskId): boolean {
    return this.#fresh.get(task)?.isSettled === false;
  }

  /** What is in a bundle, or would be, comes to lie under the task's own keys: something of it is about to change. */
  giveOwn(task: TaskId): void {
    const fresh = this.#fresh.get(task);
    if (fresh !== undefined) {
      this.#fresh.delete(task);
      this.#writeOwn(fresh);
      this.#keep(fresh.sum);
    } else if (!this.#file.heads.has(numberKey(task))) {
      const bundled = this.#bundled(task);
      if (bundled !== undefined) this.#writeOwn(copyOf(bundled));
    }
  }

  removeOwn(task: TaskId): void {
    this.#file.heads.remove(numberKey(task));
    this.#file.progress.remove(numberKey(task));
  }

  /** Ends a transaction's changes. */
  write(): void {
    const settled: TaskPlaces[] = [];
    for (const fresh of this.#fresh.values()) {
      if (fresh.isSettled) settled.push(fresh as TaskPlaces);
      else {
        this.#writeOwn(fresh);
        this.#keep(fresh.sum);
      }
    }
    this.#fresh = new Map();
    this.bundles.write(settled);
  }

  /** What was put and not written is forgotten. */
  forget(): void {
    this.bundles.forget();
    this.#fresh = new Map();
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
    const held = this.#fresh.get(task)?.head;
    return held ?? placeOf(this.#file.heads.read(numberKey(task))) ?? this.#bundled(task)?.head;
  }

  #progressOf(task: TaskId): Place | undefined {
    const held = this.#fresh.get(task)?.progress;
    return held ?? placeOf(this.#file.progress.read(numberKey(task))) ?? this.#bundled(task)?.progress;
  }

  #read<Value>(place: Place | undefined, read: (from: RecordReader) => Value): Value | undefined {
    if (place === undefined) return undefined;
    this.#reader.begin(place.bytes, place.start, place.end);
    return read(this.#reader);
  }

  /** Only what has settled is in bundles. */
  #bundled(task: TaskId): TaskPlaces | undefined {
    return this.#isSettled(task) ? this.bundles.find(task) : undefined;
  }

  #writeOwn({ task, head, progress }: Pick<Fresh, "task" | "head" | "progress">): void {
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
