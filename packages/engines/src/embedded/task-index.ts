// The index over all tasks: blocks by id, and for each block the tasks of every term. It changes in memory with every
// commit. When enough has gathered, that is set apart and goes to the file a little with each commit, so that none takes
// long; when all of it is there, the marks are moved up. What the file lacks after a crash is made again from the records
// beyond the marks (`TaskStore.recover`).

import type { TaskId } from "@yardmaster/core";
import type { RecordReader } from "../records/index.js";
import { headerBytes } from "../records/index.js";
import {
  addBytes,
  type Bits,
  blockSize,
  bytesWith,
  countBits,
  firstBitFrom,
  isEmpty,
  noBits,
  setBit,
} from "./bits.js";
import { numberKey, numberOfKey, termKey } from "./keys.js";
import type { StoreFile } from "./store-file.js";
import type { StoreState } from "./store-state.js";
import { blockOf, offsetOf, TaskBlock } from "./task-block.js";

/** So many entries are set apart to be written. After a crash at most about twice as many are made again. */
const freshEntriesMax = 16_384;
/** At least so many lists go with a commit, and twice as many as it brought: then it ends. */
const listsAtOnce = 64;

type Marks = Pick<StoreState, "indexedTask" | "indexedSettled">;

export class TaskIndex {
  readonly #file: StoreFile;
  readonly #blocks = new Map<number, TaskBlock>();
  /** The one that was asked for last: whoever asks for many asks for neighbours. */
  #last: TaskBlock | undefined;
  /** The indexes of all blocks, rising. */
  #order: number[] = [];
  #freshEntries = 0;
  /** Lists begun since the last commit. */
  #freshLists = 0;
  /** What is on its way to the file, and what is true when all of it is there. */
  #leaving: { readonly block: TaskBlock; readonly term: string }[] = [];
  #leavingMarks: Marks | undefined;

  constructor(file: StoreFile) {
    this.#file = file;
  }

  /** What the file has. */
  read(reader: RecordReader): void {
    this.#blocks.clear();
    this.#last = undefined;
    this.#order = [];
    this.#freshEntries = 0;
    this.#leaving = [];
    this.#leavingMarks = undefined;
    for (const key of this.#file.blocks.keys()) {
      const bytes = this.#file.blocks.read(key);
      if (bytes === undefined) continue;
      const block = new TaskBlock(numberOfKey(key));
      reader.begin(bytes, 0, bytes.length);
      block.read(reader);
      this.#blocks.set(block.index, block);
      this.#order.push(block.index);
    }
  }

  block(task: number): TaskBlock | undefined {
    const index = blockOf(task);
    if (this.#last?.index !== index) this.#last = this.#blocks.get(index);
    return this.#last;
  }

  /** The block of a task, made if there was none. */
  blockFor(task: number): TaskBlock {
    const known = this.block(task);
    if (known !== undefined) return known;
    const index = blockOf(task);
    const block = new TaskBlock(index);
    this.#blocks.set(index, block);
    const place = this.#order.findLastIndex((each) => each < index) + 1;
    this.#order.splice(place, 0, index);
    return block;
  }

  /** The last block at or below this index. */
  blockUpTo(index: number): TaskBlock | undefined {
    const found = this.#order.findLast((each) => each <= index);
    return found === undefined ? undefined : this.#blocks.get(found);
  }

  /** The first block at or above this index. */
  blockFrom(index: number): TaskBlock | undefined {
    const found = this.#order.find((each) => each >= index);
    return found === undefined ? undefined : this.#blocks.get(found);
  }

  /** How many tasks are live, and how many have settled. */
  counts(): { readonly live: number; readonly kept: number } {
    let live = 0;
    let kept = 0;
    for (const block of this.#blocks.values()) {
      live += countBits(block.live);
      kept += countBits(block.kept);
    }
    return { live, kept };
  }

  /** Live and settled ones, by rising id within each. */
  *tasks(): Generator<TaskId> {
    for (const block of this.#blocks.values()) {
      yield* block.liveTasks();
      yield* block.keptTasks();
    }
  }

  /** Whether there is a settled task from one id to another, both included. */
  isAnyKept(first: TaskId, last: TaskId): boolean {
    for (let index = blockOf(first); index <= blockOf(last); index++) {
      const block = this.#blocks.get(index);
      if (block === undefined) continue;
      const start = index * blockSize;
      const found = firstBitFrom(block.kept, Math.max(0, first - start));
      if (found >= 0 && start + found <= last) return true;
    }
    return false;
  }

  addTerms(task: number, terms: readonly string[]): void {
    const { fresh } = this.blockFor(task);
    const offset = offsetOf(task);
    for (const term of terms) {
      const list = fresh.get(term);
      if (list === undefined) {
        fresh.set(term, [offset]);
        this.#freshLists += 1;
      } else {
        list.push(offset);
      }
      this.#freshEntries += 1;
    }
  }

  /** The tasks of a block that a term leads to; undefined if it leads to none. */
  bitsOf(block: TaskBlock, term: string): Bits | undefined {
    const stored = this.#stored(block, term);
    const leaving = block.leaving.get(term);
    const fresh = block.fresh.get(term);
    if (stored === undefined && leaving === undefined && fresh === undefined) return undefined;
    const bits = noBits();
    if (stored !== undefined) addBytes(bits, stored);
    for (const offset of leaving ?? []) setBit(bits, offset);
    for (const offset of fresh ?? []) setBit(bits, offset);
    return bits;
  }

  /** Inside a transaction: some of what gathered goes to the file. Moves the marks up when they are true of the file. */
  writeSome(state: StoreState, marks: Marks): void {
    if (this.#leavingMarks === undefined && this.#freshEntries >= freshEntriesMax) this.#setApart(marks);
    if (this.#leavingMarks !== undefined)
      this.#writeLeaving(Math.max(listsAtOnce, this.#freshLists * 2), state);
    this.#freshLists = 0;
  }

  /** Inside a transaction: everything is in the file. */
  writeAll(state: StoreState, marks: Marks): void {
    if (this.#leavingMarks !== undefined) this.#writeLeaving(Number.POSITIVE_INFINITY, state);
    this.#setApart(marks);
    this.#writeLeaving(Number.POSITIVE_INFINITY, state);
  }

  /** Inside a transaction: which tasks there are, without their terms. A block with none left goes. */
  writeBlock(block: TaskBlock): void {
    block.isDirty = false;
    const isLast = block.index === this.#order.at(-1);
    if (isLast || !isEmpty(block.kept) || !isEmpty(block.live)) {
      this.#file.blocks.put(numberKey(block.index), (to) => block.write(to));
      return;
    }
    this.#file.blocks.remove(numberKey(block.index));
    this.#file.terms.removeRange({ start: termKey(block.index), end: termKey(block.index + 1) });
    block.fresh.clear();
    block.leaving.clear();
    this.#blocks.delete(block.index);
    this.#last = undefined;
    this.#order.splice(this.#order.indexOf(block.index), 1);
  }

  #setApart(marks: Marks): void {
    this.#leavingMarks = marks;
    for (const block of this.#blocks.values()) {
      if (block.fresh.size === 0) continue;
      for (const term of block.fresh.keys()) this.#leaving.push({ block, term });
      block.leaving = block.fresh;
      block.fresh = new Map();
    }
    this.#freshEntries = 0;
  }

  #writeLeaving(count: number, state: StoreState): void {
    for (let left = count; left > 0; left--) {
      const next = this.#leaving.pop();
      if (next === undefined) break;
      this.#writeList(next.block, next.term);
    }
    if (this.#leaving.length > 0) return;
    for (const block of this.#blocks.values()) if (block.isDirty) this.writeBlock(block);
    Object.assign(state, this.#leavingMarks);
    this.#leavingMarks = undefined;
  }

  #writeList(block: TaskBlock, term: string): void {
    const offsets = block.leaving.get(term);
    // Gone with its block.
    if (offsets === undefined) return;
    block.leaving.delete(term);
    const bytes = bytesWith(this.#stored(block, term) ?? nothing, offsets);
    this.#file.terms.put(termKey(block.index, term), (to) => to.raw(bytes));
  }

  #stored(block: TaskBlock, term: string): Uint8Array | undefined {
    const bytes = this.#file.terms.read(termKey(block.index, term));
    return bytes?.subarray(headerBytes, bytes.length);
  }
}

const nothing = new Uint8Array(0);
