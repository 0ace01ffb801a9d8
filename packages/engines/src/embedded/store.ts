// The store: one LMDB file, which takes over the journal's batches, many in one transaction.
// Everything here is synchronous and runs in the store's thread, so it never blocks the event loop.

import { dirname } from "node:path";
import type { HistorySegment } from "@yardmaster/core";
import type { Batch, BatchRecord } from "../durable/batches.js";
import { markNeeded } from "../durable/coalescing.js";
import type { LoadItem, TaskQuery } from "../engine.js";
import { lastPlaces } from "../lane-marks.js";
import {
  BadRecord,
  RecordReader,
  readChange,
  readDoor,
  readKey,
  readQueue,
  recordKinds,
} from "../records/index.js";
import { type JournalMark, missingJournals, takeJournals } from "./journal.js";
import { diskFiles, type JournalFiles } from "./journal-files.js";
import { batchesBeyond, lastBatchIn } from "./journal-replay.js";
import { bodyOfKey, textKey } from "./keys.js";
import { type Migration, migrate, migrations } from "./migrations.js";
import { StoreBodies } from "./store-bodies.js";
import { openStoreFile, type StoreFile, type StoreFileOptions } from "./store-file.js";
import { StoreMemos } from "./store-memos.js";
import type { BodyStretch } from "./store-messages.js";
import { readState, type StoreState, writeState } from "./store-state.js";
import type { IndexPace } from "./task-index.js";
import { TaskSearch } from "./task-search.js";
import { TaskStore } from "./task-store.js";
import { transact } from "./tree-sums.js";

/** Another owner has taken over the store. */
export class Fenced extends Error {
  override readonly name = "Fenced";
}

export interface StoreOptions extends StoreFileOptions {
  /** For tests: the steps from one schema to the next. */
  readonly migrations?: readonly Migration[];
  /** For tests: opens something in place of LMDB's file. */
  readonly openFile?: (options: StoreFileOptions) => StoreFile;
  /** For tests: how fast the index is written to the file. */
  readonly pace?: IndexPace;
  /** For tests: the journals' files, in place of the disk's. */
  readonly journalFiles?: JournalFiles;
  /** Runs each transaction; by default a plain call. */
  readonly guard?: (work: () => void) => void;
}

interface Applying {
  /** Later batches that are durable in the journal. */
  readonly next?: readonly Batch[];
  /** Maximum number of trimmed segments to sweep. */
  readonly sweepMax?: number;
}

export class Store {
  readonly #options: StoreOptions;
  readonly file: StoreFile;
  readonly tasks: TaskStore;
  readonly bodies: StoreBodies;
  readonly memos: StoreMemos;
  /** Copies byte fields, because LMDB reuses its buffer for the next read. */
  readonly #reader = new RecordReader({ copies: true });
  /** Reads batches, whose memory stays valid while they are applied. */
  readonly #batchReader = new RecordReader();
  #state: StoreState;
  /** The epoch of this owner. */
  #epoch = 0;
  #lastBatch = 0;
  /**
   * True after a failed transaction: memory must be read again from the file before anything else.
   */
  #isStale = false;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.file = (options.openFile ?? openStoreFile)(options);
    this.bodies = new StoreBodies(this.file);
    this.memos = new StoreMemos(this.file, this.#reader);
    this.tasks = new TaskStore({
      file: this.file,
      reader: this.#reader,
      bodies: this.bodies,
      state: () => this.#state,
      pace: options.pace,
    });
    if (options.readOnly !== true) {
      this.#exclusive(() => migrate(this.file, options.migrations ?? migrations));
    }
    this.#state = readState(this.file, this.#reader);
    if (this.#state.epoch === 0 && this.file.heads.keys({ limit: 1 }).length > 0)
      throw new BadRecord("the store's own record is not there, and tasks are");
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** The last batch of this owner in the store. It stays when another owner takes over. */
  get lastBatch(): number {
    return this.#lastBatch;
  }

  get isMoreToSweep(): boolean {
    return this.tasks.segments.hasTrimmed;
  }

  /**
   * Commits a new epoch. In the same transaction it applies the batches of earlier owners that only
   * their journals have, and deletes bodies without a reference. Then it deletes the journals.
   * `journal`: the journals of an owner that was not shut down cleanly. Throws BadRecord if that
   * owner's journals are missing, because acknowledged batches may be missing with them.
   */
  takeOver(journal?: JournalMark): number {
    let journals: readonly string[] = [];
    const { journalFiles: files = diskFiles } = this.#options;
    this.#exclusive(() => {
      journals = takeJournals(dirname(this.#options.path), files);
      this.#state = readState(this.file, this.#reader);
      if (journal?.epoch === this.#state.epoch) this.#requireJournals(journal, journals, files);
      this.tasks.recover();
      const { epoch, lastBatch } = this.#state;
      this.#applyAll(batchesBeyond(journals, { epoch, number: lastBatch }, files));
      this.#state.epoch += 1;
      this.#state.lastBatch = 0;
      writeState(this.file, this.#state);
      for (const key of this.file.looseBodies.keys()) {
        const { task, part } = bodyOfKey(key);
        this.bodies.remove(task, part);
      }
    });
    this.#epoch = this.#state.epoch;
    for (const path of journals) files.remove(path);
    return this.#epoch;
  }

  #requireJournals({ epoch, bytes }: JournalMark, journals: readonly string[], files: JournalFiles): void {
    const mayBeGone = "the last acknowledged tasks may be gone";
    const [missing] = missingJournals(epoch, journals);
    if (missing !== undefined) {
      throw new BadRecord(
        `${missing} is missing, although its dispatcher was not shut down cleanly: ${mayBeGone}`,
      );
    }
    const cut = journals.find((path) => files.read(path).length < bytes);
    if (cut !== undefined) throw new BadRecord(`${cut} is shorter than it was: ${mayBeGone}`);
    const last = lastBatchIn(journals, epoch, files);
    const { lastBatch } = this.#state;
    if (last < lastBatch) {
      throw new BadRecord(
        `the journal of epoch ${epoch} ends with batch ${last}, and the store has batch ${lastBatch}: it is an older copy, and ${mayBeGone}`,
      );
    }
  }

  /**
   * Applies those batches that the store does not have, all or none. Throws Fenced or LMDB's error.
   * `next`: later batches that are durable in the journal.
   */
  commit(batches: readonly Batch[], next: readonly Batch[] = []): void {
    this.#refresh();
    this.#transaction(() => {
      const fresh = batches.filter(({ number }) => number > this.#state.lastBatch);
      if (fresh.some(({ number }, index) => number !== this.#state.lastBatch + 1 + index))
        throw new Error("a batch number was left out");
      this.#applyAll(fresh, { next, sweepMax: Math.max(1, fresh.length) });
      writeState(this.file, this.#state);
    });
    this.#lastBatch = this.#state.lastBatch;
  }

  #applyAll(batches: readonly Batch[], { next = [], sweepMax = 0 }: Applying = {}): void {
    markNeeded(batches, this.tasks);
    for (const batch of batches) {
      for (const record of batch.records) this.#apply(record);
      this.#state.lastBatch = batch.number;
    }
    this.tasks.finish({ next, sweepMax });
  }

  /** Deletes the records of one trimmed segment, in a transaction of its own. */
  sweep(): void {
    this.#refresh();
    this.#transaction(() => this.tasks.sweep(1));
  }

  /** Writes or deletes all of them in one transaction. */
  putBodies(stretches: readonly BodyStretch[]): void {
    this.#refresh();
    this.#transaction(() => {
      for (const { task, part, from, bytes } of stretches) {
        if (bytes === undefined) this.bodies.remove(task, part);
        else this.bodies.write(task, part, from, new Uint8Array(bytes));
      }
    });
  }

  /** The items of a load, without the tasks and the end. */
  *loadOthers(): Generator<LoadItem> {
    const { keys, queues, doors } = this.file;
    for (const key of this.#recordsOf(keys, readKey, (each) => [each.queue, each.key]))
      yield { type: "key", key };
    for (const queue of this.#recordsOf(queues, readQueue, ({ name }) => [name]))
      yield { type: "queue", queue };
    for (const door of this.#recordsOf(doors, readDoor, ({ name }) => [name])) yield { type: "door", door };
    yield* this.memos.all();
    for (const segment of this.#segments()) yield { type: "segment", segment };
  }

  /** Throws BadRecord if history and the index count different numbers of settled tasks. */
  #segments(): HistorySegment[] {
    const { segments, index } = this.tasks;
    const sums = segments.indexes(0).flatMap((each) => segments.sumsOf(each) ?? []);
    const settled = sums.reduce((sum, { count }) => sum + count, 0);
    const { kept } = index.counts();
    if (settled !== kept)
      throw new BadRecord(`history has ${settled} tasks, and the index ${kept}: records are missing`);
    return sums;
  }

  get end(): Extract<LoadItem, { type: "end" }> {
    const { lastTask, lastSettled } = this.#state;
    return { type: "end", lastTask: lastTask as never, ...lastPlaces(lastSettled) };
  }

  /** Throws CursorMismatch. */
  search(query: TaskQuery): TaskSearch {
    this.#refresh();
    return new TaskSearch(this.file, this.tasks, query);
  }

  /**
   * Closes and opens the file. What LMDB has read stays mapped and counts as resident memory; after
   * a load that is nearly the whole file. No request may be handled meanwhile.
   */
  async reopen(): Promise<void> {
    await this.file.root.close();
    Object.assign(this.file, (this.#options.openFile ?? openStoreFile)(this.#options));
  }

  /** Writes the whole index first, so that the next start need not rebuild it. */
  async close(): Promise<void> {
    try {
      if (this.#epoch > 0) {
        this.#refresh();
        this.#transaction(() => {
          this.tasks.finish({ isLast: true });
          writeState(this.file, this.#state);
        });
      }
    } catch {
      // Fenced, full or failed: everything acknowledged is durable already.
    }
    await this.file.root.close();
  }

  /** All records of a tree. Keys have no CRC, so each record is compared with its key. */
  *#recordsOf<Value>(
    tree: StoreFile["keys"],
    read: (from: RecordReader) => Value,
    textsOf: (value: Value) => readonly string[],
  ): Generator<Value> {
    for (const key of tree.keys()) {
      const bytes = tree.read(key);
      if (bytes === undefined) continue;
      this.#reader.begin(bytes, 0, bytes.length);
      const value = read(this.#reader);
      if (!textKey(...textsOf(value)).equals(key))
        throw new BadRecord(`${tree.nameOf(key)}: the record there belongs to another key`);
      yield value;
    }
  }

  #apply(record: BatchRecord): void {
    if (record.kind === recordKinds.head) this.tasks.putHead(record);
    else if (record.kind !== recordKinds.progress) this.#applyOther(record);
    else {
      if (record.settled > 0) this.tasks.noteApplied(record.task, record.settled);
      // A progress that a later one in this group replaces is not written.
      if (record.isNeeded) this.tasks.putProgress(record);
    }
  }

  #applyOther({ bytes, start, end }: BatchRecord): void {
    const change = readChange(this.#batchReader, bytes, start, end);
    const { file } = this;
    switch (change.kind) {
      case "head":
      case "progress":
        throw new Error("a task's records are put as they are");
      case "key":
        return file.keys.write(textKey(change.key.queue, change.key.key), bytes, start, end);
      case "key-gone":
        return this.#removeKey(change.queue, change.key, change.task);
      case "queue":
        return file.queues.write(textKey(change.queue.name), bytes, start, end);
      case "queue-gone":
        return file.queues.remove(textKey(change.name));
      case "door":
        return file.doors.write(textKey(change.door.name), bytes, start, end);
      case "memo":
        return this.memos.put(change.memo);
      case "memo-gone":
        return this.memos.remove(change.door, change.name);
      case "history-trimmed":
        return this.tasks.trim(change.through);
      default:
        change satisfies never;
    }
  }

  #removeKey(queue: string, key: string, task: number): void {
    const at = textKey(queue, key);
    const bytes = this.file.keys.read(at);
    if (bytes === undefined) return;
    this.#reader.begin(bytes, 0, bytes.length);
    if (readKey(this.#reader).task === task) this.file.keys.remove(at);
  }

  /** Runs `work` in a transaction, if this is still the owner. */
  #transaction(work: () => void): void {
    this.#isStale = true;
    this.#exclusive(() => {
      const { epoch } = readState(this.file, this.#reader);
      if (epoch !== this.#epoch) {
        throw new Fenced(`epoch ${epoch} has the store; this engine opened it in epoch ${this.#epoch}`);
      }
      work();
    });
    this.#isStale = false;
  }

  #exclusive(work: () => void): void {
    const { guard = (transaction: () => void) => transaction() } = this.#options;
    guard(() => transact(this.file, work));
  }

  /** After a failed transaction, memory holds changes that the file does not have. */
  #refresh(): void {
    if (!this.#isStale) return;
    this.#state = readState(this.file, this.#reader);
    this.tasks.recover();
    this.#isStale = false;
  }
}
