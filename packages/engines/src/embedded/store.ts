// The store: one LMDB file, which takes over what the journal made durable, many batches in one transaction. Everything
// here is synchronous and runs on the engine's own thread, so that neither that nor a question holds up the event loop.

import { rmSync } from "node:fs";
import { dirname } from "node:path";
import type { HistorySegment } from "@yardmaster/core";
import type { LoadItem, TaskQuery } from "../engine.js";
import {
  BadRecord,
  RecordReader,
  readChange,
  readDoor,
  readKey,
  readQueue,
  recordKinds,
} from "../records/index.js";
import { type Batch, type BatchRecord, batchesBeyond, markNeeded } from "./batches.js";
import { missingJournals, takeJournals } from "./journal.js";
import { bodyOfKey, textKey } from "./keys.js";
import { type Migration, migrate, migrations } from "./migrations.js";
import { StoreBodies } from "./store-bodies.js";
import { openStoreFile, type StoreFile, type StoreFileOptions } from "./store-file.js";
import { StoreMemos } from "./store-memos.js";
import { readState, type StoreState, writeState } from "./store-state.js";
import { TaskSearch } from "./task-search.js";
import { TaskStore } from "./task-store.js";

/** Another owner has the store. */
export class Fenced extends Error {
  override readonly name = "Fenced";
}

export interface StoreOptions extends StoreFileOptions {
  /** For tests of the way from one schema to the next. */
  readonly migrations?: readonly Migration[];
  /** Runs a transaction, if not just so. */
  readonly guard?: (work: () => void) => void;
  /** Called now and then during a long commit: whoever runs the store may let others go first. */
  readonly rest?: () => void;
}

interface Applying {
  /** Batches that are safe in the journal and come after these. */
  readonly next?: readonly Batch[];
  /** So many segments that were trimmed are cleared away. */
  readonly sweepMax?: number;
  readonly rest?: (() => void) | undefined;
}

export class Store {
  readonly #options: StoreOptions;
  readonly file: StoreFile;
  readonly tasks: TaskStore;
  readonly bodies: StoreBodies;
  readonly #memos: StoreMemos;
  /** Copies what it reads out of LMDB's buffer, which the next read writes over. */
  readonly #reader = new RecordReader({ copies: true });
  /** A batch's buffer lasts as long as it is worked on. */
  readonly #batchReader = new RecordReader();
  #state: StoreState;
  /** Of this owner. */
  #epoch = 0;
  /** The last transaction failed: memory is to be made what the file says before anything else is done. */
  #isStale = false;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.file = openStoreFile(options);
    this.bodies = new StoreBodies(this.file);
    this.#memos = new StoreMemos(this.file, this.#reader);
    this.tasks = new TaskStore(this.file, this.#reader, this.bodies, () => this.#state);
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

  get isMoreToSweep(): boolean {
    return this.tasks.segments.hasTrimmed;
  }

  /**
   * Begins a new, committed epoch: with all that the owners before had in their journals and not here, and without what
   * they put and never referred to. The journals go when that is safe. `journal`: the epoch of an owner that did not end
   * in order. Throws BadRecord where its journals are not there: they may have had what nothing else has.
   */
  takeOver(journal?: number): number {
    let journals: readonly string[] = [];
    this.#exclusive(() => {
      journals = takeJournals(dirname(this.#options.path));
      this.#state = readState(this.file, this.#reader);
      if (journal === this.#state.epoch) this.#requireJournals(journal, journals);
      this.tasks.recover();
      this.#applyAll(batchesBeyond(journals, { epoch: this.#state.epoch, number: this.#state.lastBatch }));
      this.#state.epoch += 1;
      this.#state.lastBatch = 0;
      writeState(this.file, this.#state);
      for (const key of this.file.looseBodies.keys()) {
        const { task, part } = bodyOfKey(key);
        this.bodies.remove(task, part);
      }
    });
    this.#epoch = this.#state.epoch;
    for (const path of journals) rmSync(path, { force: true });
    return this.#epoch;
  }

  #requireJournals(epoch: number, journals: readonly string[]): void {
    const [missing] = missingJournals(epoch, journals);
    if (missing === undefined) return;
    throw new BadRecord(
      `${missing} is not there although its dispatcher did not end in order: what was acknowledged last may be gone`,
    );
  }

  /**
   * All of these, or those of them that are not here yet; throws Fenced, or what LMDB found. `next`: batches that are
   * safe in the journal and will be committed after these.
   */
  commit(batches: readonly Batch[], next: readonly Batch[] = []): void {
    this.#refresh();
    this.#transaction(() => {
      const fresh = batches.filter(({ number }) => number > this.#state.lastBatch);
      if (fresh.some(({ number }, index) => number !== this.#state.lastBatch + 1 + index))
        throw new Error("a batch number was left out");
      this.#applyAll(fresh, { next, rest: this.#options.rest, sweepMax: Math.max(1, fresh.length) });
      writeState(this.file, this.#state);
    });
  }

  #applyAll(batches: readonly Batch[], { next = [], sweepMax = 0, rest }: Applying = {}): void {
    markNeeded(batches, this.tasks);
    for (const batch of batches) {
      for (const record of batch.records) this.#apply(record);
      this.#state.lastBatch = batch.number;
      rest?.();
    }
    this.tasks.finish({ next, sweepMax });
  }

  /** Clears away some of what was trimmed, in a transaction of its own. */
  sweep(): void {
    this.#refresh();
    this.#transaction(() => this.tasks.sweep(1));
  }

  /** A stretch of a body; `from` is where a piece begins. */
  putBody(...[task, part, from, bytes]: Parameters<StoreBodies["write"]>): void {
    this.#refresh();
    this.#transaction(() => this.bodies.write(task, part, from, bytes));
  }

  /** Everything but tasks and the end. */
  *loadOthers(): Generator<LoadItem> {
    const { keys, queues, doors } = this.file;
    for (const key of this.#recordsOf(keys, readKey, (each) => [each.queue, each.key]))
      yield { type: "key", key };
    for (const queue of this.#recordsOf(queues, readQueue, ({ name }) => [name]))
      yield { type: "queue", queue };
    for (const door of this.#recordsOf(doors, readDoor, ({ name }) => [name])) yield { type: "door", door };
    for (const memo of this.#memos.all()) yield { type: "memo", memo };
    for (const segment of this.#segments()) yield { type: "segment", segment };
  }

  /** Throws BadRecord where history and the index do not know the same number of tasks. */
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
    return { type: "end", lastTask: lastTask as never, lastSettled };
  }

  /** Throws CursorMismatch. */
  search(query: TaskQuery): TaskSearch {
    this.#refresh();
    return new TaskSearch(this.file, this.tasks, query);
  }

  /**
   * Opens the file anew. What LMDB has read stays mapped and counts as ours; after a load that is nearly all of the file.
   * Nothing may be asked for meanwhile.
   */
  async reopen(): Promise<void> {
    await this.file.root.close();
    Object.assign(this.file, openStoreFile(this.#options));
  }

  /** With the whole index in the file, so that the next one need not make it. */
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
      // Fenced, full, or broken: all that was acknowledged is in the file already.
    }
    await this.file.root.close();
  }

  /** All of a tree. A key has no CRC: the record has to be that of its key. */
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
        throw new BadRecord(`${tree.nameOf(key)}: what lies there belongs elsewhere`);
      yield value;
    }
  }

  #apply(record: BatchRecord): void {
    if (record.kind === recordKinds.head) this.tasks.putHead(record);
    else if (record.kind !== recordKinds.progress) this.#applyOther(record);
    // What a task was on its way to what it is at the end of this is nobody's business any more.
    else if (record.isNeeded) this.tasks.putProgress(record);
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
        return this.#memos.put(change.memo);
      case "memo-gone":
        return this.#memos.remove(change.door, change.name);
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

  /** All of `work` or nothing, and only for the owner. */
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
    guard(() => this.file.root.transactionSync(work));
  }

  /** After a transaction that failed, memory holds what the file does not. */
  #refresh(): void {
    if (!this.#isStale) return;
    this.#state = readState(this.file, this.#reader);
    this.tasks.recover();
    this.#isStale = false;
  }
}
