// Puts a file in order that holds sound records and nothing that leads to them: history, index and marks are made anew.
// A task is kept if all that is needed to run or show it is there; one that is known to have ended and whose outcome is
// lost is named, not run again.

import { readFileSync } from "node:fs";
import { epochOf, historySegmentOf, type TaskHead, type TaskId, type TaskProgress } from "@yardmaster/core";
import { RecordReader, readDoor, readHead, readProgress, sumProgress } from "../records/index.js";
import { anything, changesOf, type Place } from "./batches.js";
import { Bundles, copyOf } from "./bundles.js";
import { readJournal } from "./journal-form.js";
import { numberKey, numberOfKey } from "./keys.js";
import { migrate, migrations } from "./migrations.js";
import { Segments } from "./segments.js";
import { isApart, StoreBodies } from "./store-bodies.js";
import { openStoreFile, type StoreFile } from "./store-file.js";
import { readState, type StoreState, writeState } from "./store-state.js";
import { TaskIndex } from "./task-index.js";
import { TaskStore } from "./task-store.js";

const tasksAtOnce = 1000;

/** What the journals say: their epoch, 0 if there are none, and which tasks have their heads in them. */
interface Journaled {
  readonly epoch: number;
  readonly tasks: ReadonlySet<TaskId>;
}

function readJournaled(journals: readonly string[]): Journaled {
  let epoch = 0;
  const tasks = new Set<TaskId>();
  const reader = new RecordReader();
  for (const path of journals) {
    for (const batch of readJournal(readFileSync(path), anything).entries) {
      epoch = Math.max(epoch, batch.epoch);
      for (const change of changesOf(reader, batch)) if (change.kind === "head") tasks.add(change.head.id);
    }
  }
  return { epoch, tasks };
}

/** How many tasks there are. What is in the journals comes on top when the store is opened. */
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
    this.#tasks = new TaskStore(file, this.#reader, this.#bodies, () => this.#state);
  }

  run(): number {
    const { settled, trimmed, first } = this.#knownEnds();
    const indexed = this.#indexed();
    this.#file.root.transactionSync(() => {
      migrate(this.#file, migrations);
      const { segments, trimmed: trims, blocks } = this.#file;
      for (const tree of [segments, trims, blocks]) tree.removeRange({});
      this.#unbundle(settled, first);
      this.#raiseEpoch();
    });
    const ids = this.#file.heads.keys().map((key) => numberOfKey(key) as TaskId);
    const { lastTask, lastSettled } = this.#state;
    // Counted up again: what is at or below them would be taken for something that comes a second time.
    Object.assign(this.#state, { lastTask: 0, lastSettled: 0 });
    this.#dropOrphans(new Set(ids));
    for (let at = 0; at < ids.length; at += tasksAtOnce) {
      this.#file.root.transactionSync(() => {
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
    this.#state.lastSettled = Math.max(this.#state.lastSettled, lastSettled);
    this.#file.root.transactionSync(() => writeState(this.#file, this.#state));
    return this.#kept;
  }

  /** Every task gets records of its own, but for those that were let go of and lie beside others that were not. */
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
      // One with a head of its own and no progress was brought back, or has lost it.
      if ((!hasHead || settled.has(places.task)) && !progress.has(key))
        progress.write(key, bytes, start, end);
    }
    bundles.removeRange({});
  }

  /** What belongs to tasks whose heads are lost. */
  #dropOrphans(heads: ReadonlySet<TaskId>): void {
    this.#file.root.transactionSync(() => {
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

  /** Which tasks settled, which were let go of, and the first segment there is, as far as the copied segments say. */
  #knownEnds(): { settled: Set<TaskId>; trimmed: Set<TaskId>; first: number } {
    const segments = new Segments(this.#file, this.#reader);
    const settled = new Set<TaskId>();
    const trimmed = new Set<TaskId>();
    for (const index of segments.indexes(0)) for (const id of segments.get(index).tasks) settled.add(id);
    for (const { tasks } of segments.trimmed()) for (const id of tasks) trimmed.add(id);
    return { settled, trimmed, first: segments.indexes(0)[0] ?? 0 };
  }

  /** The tasks that the index knew, as far as it could be read. */
  #indexed(): TaskId[] {
    const index = new TaskIndex(this.#file);
    index.read(this.#reader);
    return [...index.tasks()];
  }

  /** Tasks that something spoke of and that have no record any more. */
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
   * Attempts carry the epoch: one that was used must not be used again, although the record of it may be lost. Whoever
   * opens the store raises it once more. Journals of a later epoch are all news to it.
   */
  #raiseEpoch(): void {
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
    Object.assign(this.#state, { epoch, lastBatch, indexedTask: 0, indexedSettled: 0 });
    writeState(this.#file, this.#state);
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
    // They may come to lie elsewhere.
    this.#file.heads.remove(numberKey(id));
    this.#file.progress.remove(numberKey(id));
    this.#tasks.putHead(headPlace);
    if (progressPlace !== undefined) this.#tasks.putProgress(progressPlace);
    this.#kept += 1;
  }

  /** Why a task cannot be kept. */
  #faultOf(
    id: TaskId,
    head: TaskHead,
    progress: TaskProgress | undefined,
    isKnownToBeSettled: boolean,
  ): string | undefined {
    if (head.id !== id || (progress !== undefined && progress.id !== id))
      return "its record is that of another task";
    if (progress === undefined && isKnownToBeSettled) return "it ended, and how is lost";
    if (isApart(head.payload) && !this.#isWhole(id, "payload", head.payload.size))
      return "its payload is not whole";
    if (isApart(progress?.result) && !this.#isWhole(id, "result", progress.result.size))
      return "its result is not whole";
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
