// Rebuilds history, index and marks of a file that has only intact records. A task is kept if
// everything needed to run or show it exists. A task that ended and whose outcome is lost is
// reported, not run again.

import { readFileSync } from "node:fs";
import { epochOf, historySegmentOf, type TaskHead, type TaskId, type TaskProgress } from "@yardmaster/core";
import { changesOf, type Place } from "../durable/batches.js";
import { raise } from "../lane-marks.js";
import { RecordReader, readDoor, readHead, readProgress, sumProgress } from "../records/index.js";
import { Bundles, copyOf } from "./bundles.js";
import { readJournal } from "./journal-form.js";
import { nothingStored } from "./journal-replay.js";
import { numberKey, numberOfKey } from "./keys.js";
import { migrate, migrations } from "./migrations.js";
import { Segments } from "./segments.js";
import { isOutOfLine, StoreBodies } from "./store-bodies.js";
import { openStoreFile, type StoreFile } from "./store-file.js";
import { readState, type StoreState, writeState } from "./store-state.js";
import { TaskIndex } from "./task-index.js";
import { TaskStore } from "./task-store.js";
import { countSums, transact } from "./tree-sums.js";

const tasksAtOnce = 1000;

/** The last batch of the journals, epoch 0 if there are none, and the tasks with heads in them. */
interface Journaled {
  readonly epoch: number;
  readonly lastBatch: number;
  readonly tasks: ReadonlySet<TaskId>;
}

function readJournaled(journals: readonly string[]): Journaled {
  let last = nothingStored;
  const tasks = new Set<TaskId>();
  const reader = new RecordReader();
  for (const path of journals) {
    for (const batch of readJournal(readFileSync(path), nothingStored).entries) {
      const isLater = batch.epoch === last.epoch ? batch.number > last.number : batch.epoch > last.epoch;
      if (isLater) last = batch;
      for (const change of changesOf(reader, batch)) if (change.kind === "head") tasks.add(change.head.id);
    }
  }
  return { epoch: last.epoch, lastBatch: last.number, tasks };
}

/** Returns the number of tasks. The journals' batches are applied when the store is opened. */
export async function rebuild(
  path: string,
  journals: readonly string[],
  onLost: (what: string) => void,
): Promise<number> {
  const file = openStoreFile({ path, durability: "fsync" });
  const rebuilding = new Rebuilding(file, journals, onLost);
  const tasks = rebuilding.run();
  await file.root.close();
  return tasks;
}

class Rebuilding {
  readonly #file: StoreFile;
  readonly #onLost: (what: string) => void;
  readonly #reader = new RecordReader({ copies: true });
  readonly #bodies: StoreBodies;
  readonly #tasks: TaskStore;
  readonly #state: StoreState;
  readonly #journaled: Journaled;
  #kept = 0;

  constructor(file: StoreFile, journals: readonly string[], onLost: (what: string) => void) {
    this.#journaled = readJournaled(journals);
    this.#file = file;
    this.#onLost = onLost;
    this.#bodies = new StoreBodies(file);
    this.#state = readState(file, this.#reader);
    this.#tasks = new TaskStore({
      file,
      reader: this.#reader,
      bodies: this.#bodies,
      state: () => this.#state,
    });
  }

  run(): number {
    const { settled, trimmed, first } = this.#knownEnds();
    const indexed = this.#indexed();
    transact(this.#file, () => {
      migrate(this.#file, migrations);
      countSums(this.#file);
      const { segments, trimmed: trims, blocks } = this.#file;
      for (const tree of [segments, trims, blocks]) tree.removeRange({});
      this.#unbundle(settled, first);
      this.#raiseEpoch();
    });
    const ids = this.#file.heads.keys().map((key) => numberOfKey(key) as TaskId);
    const { lastTask, lastSettled } = this.#state;
    // They are counted again from 0. Otherwise every task would look like one that is put a second
    // time.
    Object.assign(this.#state, { lastTask: 0, lastSettled: [0] });
    this.#dropOrphans(new Set(ids));
    for (let at = 0; at < ids.length; at += tasksAtOnce) {
      transact(this.#file, () => {
        for (const id of ids.slice(at, at + tasksAtOnce)) {
          if (trimmed.has(id)) this.#drop(id);
          else this.#enter(id, settled.has(id));
        }
        this.#tasks.finish({});
        writeState(this.#file, this.#state);
      });
    }
    for (const id of indexed) if (!trimmed.has(id)) settled.add(id);
    this.#nameMissing(settled, new Set(ids));
    this.#state.lastTask = Math.max(this.#state.lastTask, lastTask);
    for (const settled of lastSettled) raise(this.#state.lastSettled, settled);
    transact(this.#file, () => writeState(this.#file, this.#state));
    return this.#kept;
  }

  /**
   * Stores the tasks of all bundles separately, except those that were evicted while others of
   * their bundle are kept.
   */
  #unbundle(settled: ReadonlySet<TaskId>, firstSegment: number): void {
    const { heads, progress, bundles } = this.#file;
    for (const bundled of new Bundles(this.#file).all()) {
      const places = copyOf(bundled);
      const key = numberKey(places.task);
      const { bytes, start, end } = places.progress;
      this.#reader.begin(bytes, start, end);
      if (historySegmentOf(sumProgress(this.#reader).settled) < firstSegment) continue;
      const hasHead = heads.has(key);
      if (!hasHead) heads.write(key, places.head.bytes, places.head.start, places.head.end);
      // A task with its own head and no progress was made live again, or has lost its progress.
      if ((!hasHead || settled.has(places.task)) && !progress.has(key))
        progress.write(key, bytes, start, end);
    }
    bundles.removeRange({});
  }

  /** Deletes the records of tasks whose heads are lost. */
  #dropOrphans(heads: ReadonlySet<TaskId>): void {
    transact(this.#file, () => {
      for (const tree of [this.#file.progress, this.#file.bodies]) {
        for (const key of tree.keys()) {
          const task = numberOfKey(key) as TaskId;
          if (heads.has(task) || this.#journaled.tasks.has(task)) continue;
          tree.remove(key);
          if (tree === this.#file.progress) this.#onLost(`${tree.nameOf(key)}: the head of its task is lost`);
        }
      }
    });
  }

  /**
   * The tasks that settled or were evicted, and the first segment, as far as the copied segments
   * say.
   */
  #knownEnds(): { settled: Set<TaskId>; trimmed: Set<TaskId>; first: number } {
    const segments = new Segments(this.#file, this.#reader);
    const settled = new Set<TaskId>();
    const trimmed = new Set<TaskId>();
    for (const index of segments.indexes(0)) for (const id of segments.get(index).tasks) settled.add(id);
    for (const { tasks } of segments.trimmed()) for (const id of tasks) trimmed.add(id);
    return { settled, trimmed, first: segments.indexes(0)[0] ?? 0 };
  }

  /** The tasks that were in the index, as far as it could be read. */
  #indexed(): TaskId[] {
    const index = new TaskIndex(this.#file);
    index.read(this.#reader);
    return [...index.tasks()];
  }

  /** Reports tasks that are mentioned somewhere but have no records. */
  #nameMissing(known: ReadonlySet<TaskId>, found: ReadonlySet<TaskId>): void {
    const missing = [...known].filter((id) => !found.has(id) && !this.#journaled.tasks.has(id));
    missing.sort((one, other) => one - other);
    for (let from = 0, to = 0; from < missing.length; from = to) {
      for (to = from + 1; missing[to] === (missing[to - 1] as number) + 1; ) to += 1;
      const [first, last] = [missing[from], missing[to - 1]];
      const which =
        first === last ? `task ${first}: its records are` : `tasks ${first} to ${last}: their records are`;
      this.#onLost(`${which} gone`);
    }
  }

  /**
   * Attempt numbers contain the epoch, so a used epoch must not be used again, even if its record
   * is lost. Opening the store raises it once more. Batches of a later epoch's journals are all new
   * to the store.
   */
  #raiseEpoch(): void {
    this.#compareWithJournals();
    let epoch = Math.max(this.#state.epoch, this.#journaled.epoch);
    for (const key of this.#file.doors.keys()) {
      const bytes = this.#file.doors.read(key) as Buffer;
      this.#reader.begin(bytes, 0, bytes.length);
      epoch = Math.max(epoch, readDoor(this.#reader).incarnation);
    }
    if (this.#state.epoch === 0) {
      for (const key of this.#file.progress.keys()) {
        const { attempt } = this.#progressAt(key) as TaskProgress;
        if (attempt !== undefined) epoch = Math.max(epoch, epochOf(attempt));
      }
    }
    const lastBatch = epoch === this.#state.epoch ? this.#state.lastBatch : 0;
    Object.assign(this.#state, { epoch, lastBatch, indexedTask: 0, indexedSettled: [0] });
    writeState(this.#file, this.#state);
  }

  /** The journals continue where the store ends. Otherwise one of both is an older copy. */
  #compareWithJournals(): void {
    const { epoch, lastBatch } = this.#journaled;
    if (epoch > this.#state.epoch) {
      this.#onLost(
        `the store is of epoch ${this.#state.epoch}, and its journal of epoch ${epoch}: it is an older copy, and what came between may be gone`,
      );
    } else if (epoch === this.#state.epoch && epoch > 0 && lastBatch < this.#state.lastBatch) {
      this.#onLost(
        `the journal ends with batch ${lastBatch}, and the store has batch ${this.#state.lastBatch}: it is an older copy, and what was acknowledged last may be gone`,
      );
    }
  }

  #enter(id: TaskId, isKnownToBeSettled: boolean): void {
    const headPlace = this.#copyOf(this.#file.heads, id) as Place;
    this.#reader.begin(headPlace.bytes, headPlace.start, headPlace.end);
    const head = readHead(this.#reader);
    const progressPlace = this.#copyOf(this.#file.progress, id);
    const progress = this.#progressAt(numberKey(id));
    const fault = this.#faultOf(id, head, progress, isKnownToBeSettled);
    if (fault !== undefined) {
      this.#onLost(`task ${id}: ${fault}`);
      return this.#drop(id);
    }
    // They may be stored in a bundle this time.
    this.#file.heads.remove(numberKey(id));
    this.#file.progress.remove(numberKey(id));
    this.#tasks.putHead(headPlace);
    if (progressPlace !== undefined) this.#tasks.putProgress(progressPlace);
    this.#kept += 1;
  }

  /** Why a task cannot be kept; undefined if it can. */
  #faultOf(
    id: TaskId,
    head: TaskHead,
    progress: TaskProgress | undefined,
    isKnownToBeSettled: boolean,
  ): string | undefined {
    if (head.id !== id || (progress !== undefined && progress.id !== id))
      return "its record is that of another task";
    const isUnsettled = progress === undefined || progress.settled === 0;
    if (isUnsettled && isKnownToBeSettled) return "it ended, and its outcome is lost";
    if (isOutOfLine(head.payload) && !this.#isWhole(id, "payload", head.payload.size))
      return "its payload is incomplete";
    if (isOutOfLine(progress?.result) && !this.#isWhole(id, "result", progress.result.size))
      return "its result is incomplete";
    return undefined;
  }

  #isWhole(id: TaskId, part: "payload" | "result", size: number): boolean {
    try {
      const bytes = new Uint8Array(size);
      return this.#bodies.read(id, part, bytes, 0, size) === size;
    } catch {
      return false;
    }
  }

  #drop(id: TaskId): void {
    this.#file.heads.remove(numberKey(id));
    this.#file.progress.remove(numberKey(id));
    this.#bodies.remove(id, "payload");
    this.#bodies.remove(id, "result");
  }

  #progressAt(key: Buffer): TaskProgress | undefined {
    const bytes = this.#file.progress.read(key);
    if (bytes === undefined) return undefined;
    this.#reader.begin(bytes, 0, bytes.length);
    return readProgress(this.#reader);
  }

  #copyOf(tree: StoreFile["heads"], id: TaskId): Place | undefined {
    const bytes = tree.read(numberKey(id));
    if (bytes === undefined) return undefined;
    const copy = Buffer.allocUnsafeSlow(bytes.length);
    copy.set(bytes.subarray(0, bytes.length));
    return { bytes: copy, start: 0, end: copy.length };
  }
}
