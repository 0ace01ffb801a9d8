// The index over all tasks: blocks by id, and for each block the tasks of every term. Kept in memory where it changes
// with every commit and written in one go every few thousand tasks, in the transaction of a commit; what the file lacks
// after a crash is made again from the records since the marks (see recovery.ts).

import type { RecordReader } from "../records/index.js";
import { addBytes, type Bits, bytesOfBits, isEmpty, noBits, setBit } from "./bits.js";
import { numberKey, numberOfKey, termKey } from "./keys.js";
import type { StoreFile } from "./store-file.js";
import { blockOf, offsetOf, TaskBlock } from "./task-block.js";

/** So many fresh entries, or so many lists of them, are written at once: a few milliseconds off the event loop. */
const freshEntriesMax = 16_384;
const freshListsMax = 1024;

export class TaskIndex {
  readonly #file: StoreFile;
  readonly #blocks = new Map<number, TaskBlock>();
  /** The indexes of all blocks, rising. */
  #order: number[] = [];
  #freshEntries = 0;
  #freshLists = 0;

  constructor(file: StoreFile) {
    this.#file = file;
  }

  /** What the file has. */
  read(reader: RecordReader): void {
    this.#blocks.clear();
    this.#order = [];
    this.#freshEntries = 0;
    this.#freshLists = 0;
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

  get isFull(): boolean {
    return this.#freshEntries >= freshEntriesMax || this.#freshLists >= freshListsMax;
  }

  block(task: number): TaskBlock | undefined {
    return this.#blocks.get(blockOf(task));
  }

  /** The block of a task, made if there was none. */
  blockFor(task: number): TaskBlock {
    const index = blockOf(task);
    let block = this.#blocks.get(index);
    if (block === undefined) {
      block = new TaskBlock(index);
      this.#blocks.set(index, block);
      const place = this.#order.findLastIndex((each) => each < index) + 1;
      this.#order.splice(place, 0, index);
    }
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

  /** The tasks of a block that a term leads to. */
  bitsOf(block: TaskBlock, term: string): Bits {
    const bits = noBits();
    this.#addStored(block, term, bits);
    for (const offset of block.fresh.get(term) ?? []) setBit(bits, offset);
    return bits;
  }

  /** Inside a transaction: everything is in the file. */
  write(): void {
    for (const block of this.#blocks.values()) {
      for (const term of block.fresh.keys()) {
        const bits = this.bitsOf(block, term);
        this.#file.terms.put(termKey(block.index, term), (to) => to.raw(bytesOfBits(bits)));
      }
      block.fresh.clear();
      if (block.isDirty) this.writeBlock(block);
    }
    this.#freshEntries = 0;
    this.#freshLists = 0;
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
    this.#blocks.delete(block.index);
    this.#order.splice(this.#order.indexOf(block.index), 1);
  }

  #addStored(block: TaskBlock, term: string, bits: Bits): void {
    const bytes = this.#file.terms.read(termKey(block.index, term));
    if (bytes !== undefined) addBytes(bits, bytes.subarray(6, bytes.length));
  }
}
