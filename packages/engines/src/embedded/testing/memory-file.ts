// The store's file in memory, in place of LMDB: ordered trees with atomic transactions. Committed
// data survives a crash of its owner.

import { type StoreFile, type StoreRoot, storeFileOver } from "../store-file.js";
import type { Range, TreeDatabase } from "../tree.js";

/** Thrown where a transaction fails and the process goes on, as when the disk is full. */
export class SimulatedFault extends Error {
  override readonly name = "SimulatedFault";
}

/** Thrown where the simulated process ends. Nothing done after it counts. */
export class SimulatedCrash extends Error {
  override readonly name = "SimulatedCrash";
}

type Undo = () => void;

/** One replaced record: what it was before. */
interface Replaced {
  readonly tree: MemoryTree;
  readonly key: string;
  readonly before: Buffer;
}

/** Number of replaced records that a lost write can bring back. */
const replacedMax = 200;

export class MemoryFile implements StoreRoot {
  readonly #trees = new Map<string, MemoryTree>();
  #undos: Undo[] | undefined;
  #replaced: Replaced[] = [];
  /** Called before each change and each commit. If it throws, nothing was changed. */
  onStep: () => void = () => {};

  open(): StoreFile {
    return storeFileOver(this, (name) => {
      const known = this.#trees.get(name) ?? new MemoryTree((undo, replaced) => this.#note(undo, replaced));
      this.#trees.set(name, known);
      return known;
    });
  }

  transactionSync(work: () => void): void {
    const undos: Undo[] = [];
    this.#undos = undos;
    try {
      work();
      this.onStep();
    } catch (error) {
      for (const undo of undos.reverse()) undo();
      throw error;
    } finally {
      this.#undos = undefined;
    }
  }

  async close(): Promise<void> {}

  /**
   * The disk lost a write, and a record is what it was before. Returns a function that undoes this;
   * undefined if there is no such record. The store's own records are on a page of which the real
   * file shows the age.
   */
  loseWrite(pick: <Value>(from: readonly Value[]) => Value | undefined): Undo | undefined {
    const own = this.#trees.get("state");
    const old = this.#replaced.filter(
      (each) => each.tree !== own && each.tree.differs(each.key, each.before),
    );
    const lost = pick(old);
    return lost?.tree.bringBack(lost.key, lost.before);
  }

  #note(undo: Undo, replaced: Replaced | undefined): void {
    if (this.#undos === undefined) throw new Error("a change outside a transaction");
    this.onStep();
    this.#undos.push(undo);
    if (replaced === undefined) return;
    this.#replaced.push(replaced);
    if (this.#replaced.length > replacedMax) this.#replaced.shift();
  }
}

/** Keys are kept as strings of one character per byte, which sort like the bytes. */
class MemoryTree implements TreeDatabase {
  readonly #note: (undo: Undo, replaced: Replaced | undefined) => void;
  readonly #values = new Map<string, Buffer>();
  #keys: string[] = [];

  constructor(note: (undo: Undo, replaced: Replaced | undefined) => void) {
    this.#note = note;
  }

  getBinaryFast(key: Buffer): Buffer | undefined {
    const value = this.#values.get(key.toString("latin1"));
    return value && Buffer.from(value);
  }

  getBinary(key: Buffer): Buffer | undefined {
    return this.getBinaryFast(key);
  }

  putSync(
    key: Buffer,
    value: Buffer & { start?: number; end?: number },
    { noOverwrite } = { noOverwrite: false },
  ): boolean {
    const text = key.toString("latin1");
    if (noOverwrite && this.#values.has(text)) return false;
    this.#set(text, Buffer.from(value.subarray(value.start ?? 0, value.end ?? value.length)));
    return true;
  }

  removeSync(key: Buffer): void {
    this.#set(key.toString("latin1"), undefined);
  }

  *getKeys({ start, end, reverse = false, limit = Number.POSITIVE_INFINITY }: Range): Iterable<Buffer> {
    const from = start?.toString("latin1");
    const to = end?.toString("latin1");
    const keys = this.#keys.filter((key) =>
      reverse
        ? (from === undefined || key <= from) && (to === undefined || key > to)
        : (from === undefined || key >= from) && (to === undefined || key < to),
    );
    if (reverse) keys.reverse();
    for (const key of keys.slice(0, limit)) yield Buffer.from(key, "latin1");
  }

  getStats(): object {
    return { entryCount: this.#keys.length };
  }

  #set(key: string, value: Buffer | undefined): void {
    const before = this.#values.get(key);
    if (before === undefined && value === undefined) return;
    this.#note(() => this.#write(key, before), before && value && { tree: this, key, before });
    this.#write(key, value);
  }

  /** True if there is a record at this key, and it is not this one. */
  differs(key: string, record: Buffer): boolean {
    return this.#values.get(key)?.equals(record) === false;
  }

  bringBack(key: string, record: Buffer): Undo {
    const present = this.#values.get(key);
    this.#write(key, record);
    return () => this.#write(key, present);
  }

  #write(key: string, value: Buffer | undefined): void {
    const isThere = this.#values.has(key);
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, value);
    if (isThere === (value !== undefined)) return;
    if (isThere) this.#keys = this.#keys.filter((each) => each !== key);
    else {
      const at = this.#keys.findIndex((each) => each > key);
      this.#keys.splice(at < 0 ? this.#keys.length : at, 0, key);
    }
  }
}
