// The index over all tasks: blocks of ids, and for each block the tasks of every term. It changes
// in memory with every commit. When enough has gathered, that part is set apart and written a
// little with each commit, so that no commit takes long. When all of it is in the file, the marks
// in the store's state are raised. After a crash, the rest is rebuilt from the records beyond the
// marks (`TaskStore.recover`).

import type { TaskId } from "@yardmaster/core";
import { type HeadSum, headerBytes, type RecordReader } from "../records/index.js";
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
import { headTerms } from "./terms.js";

/** How fast the index is written to the file. */
export interface IndexPace {
  /**
   * Number of entries that are set apart together. After a crash, at most about twice as many are
   * rebuilt.
   */
  readonly entries: number;
  /**
   * Minimum number of lists written with each commit. A commit that brought more than half of this
   * writes twice what it brought, so the backlog always shrinks.
   */
  readonly lists: number;
}

const usualPace: IndexPace = { entries: 16_384, lists: 64 };

type Marks = Pick<StoreState, "indexedTask" | "indexedSettled">;

export class TaskIndex {
  readonly #file: StoreFile;
  readonly #pace: IndexPace;
  readonly #blocks = new Map<number, TaskBlock>();
  /** The block used last: neighbouring tasks are often read together. */
  #last: TaskBlock | undefined;
  /** The indexes of all blocks, rising. */
  #order: number[] = [];
  #freshEntries = 0;
  /** Number of lists started since the last commit. */
  #freshLists = 0;
  /**
   * The lists that are being written, and the marks that are true when all of them are in the file.
   */
  #leaving: { readonly block: TaskBlock; readonly term: string }[] = [];
  #leavingMarks: Marks | undefined;

  constructor(file: StoreFile, pace = usualPace) {
    this.#file = file;
    this.#pace = pace;
  }

  /** Reads the index from the file. */
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

  /** The block of a task, created if there is none. */
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

  /** The number of live tasks and of settled ones. */
  counts(): { readonly live: number; readonly kept: number } {
    let live = 0;
    let kept = 0;
    for (const block of this.#blocks.values()) {
      live += countBits(block.live);
      kept += countBits(block.kept);
    }
    return { live, kept };
  }

  /** Of each block the live tasks, then the settled ones, by rising id. */
  *tasks(): Generator<TaskId> {
    for (const block of this.#blocks.values()) {
      yield* block.liveTasks();
      yield* block.keptTasks();
    }
  }

  /** True if there is a settled task with an id from `first` to `last`, inclusive. */
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

  /** Adds a live task. */
  addHead(head: HeadSum): void {
    this.blockFor(head.id).accept(offsetOf(head.id), head.submittedAt);
    this.addTerms(head.id, headTerms(head));
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

  /** The tasks of a block that have a term; undefined if none has. */
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

  /** Up to where the index is in the file, or will be when the current part is written. */
  marks(state: StoreState): Marks {
    return this.#leavingMarks ?? state;
  }

  /**
   * Call inside a transaction: writes a part of what has gathered. Raises the marks in `state` when
   * they are true.
   */
  writeSome(state: StoreState, marks: Marks): void {
    if (this.#leavingMarks === undefined && this.#freshEntries >= this.#pace.entries) this.#setApart(marks);
    if (this.#leavingMarks !== undefined)
      this.#writeLeaving(Math.max(this.#pace.lists, this.#freshLists * 2), state);
    this.#freshLists = 0;
  }

  /** Call inside a transaction: writes everything. */
  writeAll(state: StoreState, marks: Marks): void {
    if (this.#leavingMarks !== undefined) this.#writeLeaving(Number.POSITIVE_INFINITY, state);
    this.#setApart(marks);
    this.#writeLeaving(Number.POSITIVE_INFINITY, state);
  }

  /**
   * Call inside a transaction: writes which tasks the block has, without their terms. An empty
   * block is deleted.
   */
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
    // Its block was deleted meanwhile.
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
