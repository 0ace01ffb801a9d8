// One owner of a simulated store, from its start to its end: the real journal, look-ahead, store
// and tail, in one thread. The caller says when the gathered batches go to the store.

import type { Change, TaskId } from "@yardmaster/core";
import { BatchEncoder } from "../../durable/batch-encoder.js";
import { Batch } from "../../durable/batches.js";
import { Tail } from "../../durable/tail.js";
import { type StoredTasks, type StoreReads, TailReads } from "../../durable/tail-reads.js";
import { Journal, type JournalMark } from "../journal.js";
import { entryHeaderBytes, entryUnit, sealEntry } from "../journal-form.js";
import { LookAhead } from "../look-ahead.js";
import { Store } from "../store.js";
import type { IndexPace } from "../task-index.js";
import { compareSums, countedSums, storedSums } from "../tree-sums.js";
import type { MemoryFile } from "./memory-file.js";
import type { SimulatedFiles } from "./simulated-files.js";

const folder = "/simulated";

/**
 * Opens the store, which a new owner then takes over. Before that, it is checked like a real file.
 * Throws OlderRecords.
 */
export function openSimulated(file: MemoryFile, journalFiles: SimulatedFiles, pace: IndexPace): Store {
  const trees = file.open();
  const committed = storedSums(trees);
  if (committed !== undefined) compareSums(countedSums(trees), committed);
  return new Store({
    path: `${folder}/yard.mdb`,
    durability: "fsync",
    openFile: () => file.open(),
    journalFiles,
    pace,
  });
}

export class SimulatedOwner {
  readonly store: Store;
  readonly reads: TailReads;
  readonly #tail: Tail;
  readonly #journal: Journal;
  readonly #lookAhead = new LookAhead();
  readonly #encoder = new BatchEncoder(4096, { before: entryHeaderBytes, after: entryUnit });
  #gathered: Batch[] = [];
  #number = 0;

  constructor(store: Store, files: SimulatedFiles, fileBytes: number) {
    this.store = store;
    this.#tail = new Tail(store.end.lastTask);
    this.reads = new TailReads(this.#tail, readsOf(store));
    this.#journal = new Journal({
      folder,
      epoch: store.epoch,
      durability: "fsync",
      files,
      fileBytes,
      store: async () => this.send(true),
      makeRoom: () => false,
    });
    store.commit([]);
  }

  get journals(): JournalMark {
    return this.#journal.mark;
  }

  /** The number of the last batch in the journal. */
  get lastBatch(): number {
    return this.#number;
  }

  /** Commits as the engine does. Throws Fenced once there is a later owner. */
  async commit(changes: readonly Change[]): Promise<void> {
    const { bytes, start, end, lastTask } = this.#encoder.encode(changes);
    const number = this.#number + 1;
    const length = sealEntry(bytes, end, this.store.epoch, number);
    await this.#journal.append(bytes, length, number);
    this.#number = number;
    const own = Buffer.allocUnsafeSlow(end - start);
    bytes.copy(own, 0, start, end);
    const batch = new Batch(number, { bytes: own, start: 0, end: own.length });
    this.#gathered.push(batch);
    this.#tail.add(batch, lastTask);
    if (!this.#journal.isOurs) this.send(true);
  }

  /** Sends the gathered batches to the store. */
  send(isAll: boolean): void {
    const group = this.#gathered.length > 0 ? this.#gathered : undefined;
    const { ready, next } = this.#lookAhead.take(group, isAll);
    this.#gathered = [];
    const taken = ready.flat();
    if (isAll || taken.length > 0) this.store.commit(taken, next);
    const last = taken.at(-1);
    if (last === undefined) return;
    this.#tail.stored(last.number);
    this.#journal.stored(last.number);
  }

  sweep(): void {
    if (this.store.isMoreToSweep) this.store.sweep();
  }

  /** `release`: notes the clean shutdown, before the journals are deleted, as the engine does. */
  async close(release: () => void): Promise<void> {
    this.send(true);
    await this.store.close();
    release();
    this.#journal.close(true);
  }
}

/** The store's answers, at once. */
function readsOf(store: Store): StoreReads {
  const storedTasks = (ids: readonly TaskId[], cursor?: string): StoredTasks => ({
    tasks: ids.flatMap((id) => store.tasks.task(id) ?? []),
    through: store.lastBatch,
    cursor,
  });
  return {
    tasks: async (ids) => storedTasks(ids),
    find: async (query) => {
      const search = store.search(query);
      search.step(() => false);
      return storedTasks(search.found, search.cursor);
    },
    bodyBytes: async (task, part, size) => {
      const bytes = new Uint8Array(size);
      store.bodies.read(task, part, bytes, 0, size);
      return bytes;
    },
    memo: async (door, name) => store.memos.bytesOf(door, name),
  };
}
