// Finds tasks, newest first. For each block the sets of the terms asked for are cut with each other; what is left is read
// and looked at, so that an answer is always what the records say.

import type { StoredTask, TaskId } from "@yardmaster/core";
import { cursorBelow, startOf } from "../cursor.js";
import type { TaskQuery } from "../engine.js";
import { BadRecord } from "../records/index.js";
import { isAskedFor } from "../task-filter.js";
import { andBits, type Bits, blockSize, isEmpty, lastBitBelow, noBits, orBits, setBit } from "./bits.js";
import { taskKeyKey, taskOfTaskKey } from "./keys.js";
import type { StoreFile } from "./store-file.js";
import { blockOf, type LiveProgress, offsetOf, type TaskBlock } from "./task-block.js";
import type { TaskStore } from "./task-store.js";
import { anyErrorTerm, codeTerm, doorTerm, messageTerm, queueTerm, stateTerm, workerTerm } from "./terms.js";

export class TaskSearch {
  readonly #file: StoreFile;
  readonly #tasks: TaskStore;
  readonly #query: TaskQuery;
  readonly #found: TaskId[] = [];
  readonly #damaged: string[] = [];
  /** What is below is still to be looked at. */
  #below: number;
  #isDone = false;

  /** Throws CursorMismatch. */
  constructor(file: StoreFile, tasks: TaskStore, query: TaskQuery) {
    this.#file = file;
    this.#tasks = tasks;
    this.#query = query;
    this.#below = startOf(query);
    tasks.learnLive();
  }

  /** Looks for at most about so long; whether it is done. Commits may come in between: the walk goes by falling id. */
  step(isOverdue: () => boolean): boolean {
    while (!this.#isDone) {
      this.#lookAtBlock();
      if (isOverdue()) break;
    }
    return this.#isDone;
  }

  /** Newest first. */
  get found(): readonly TaskId[] {
    return this.#found;
  }

  /** Where to go on; undefined if this was all. */
  get cursor(): string | undefined {
    const last = this.#found.at(-1);
    const isFull = this.#found.length === this.#query.limit && last !== undefined;
    return isFull ? cursorBelow(last, this.#query) : undefined;
  }

  /** Records that were passed over because they are not what was written. */
  get damaged(): readonly string[] {
    return this.#damaged;
  }

  #lookAtBlock(): void {
    const block = this.#tasks.index.blockUpTo(blockOf(this.#below - 1));
    if (block === undefined || this.#below <= 1) {
      this.#isDone = true;
      return;
    }
    const first = block.index * blockSize;
    const bits = this.#candidates(block);
    let at = lastBitBelow(bits, Math.min(blockSize, this.#below - first));
    for (; at >= 0 && !this.#isDone; at = lastBitBelow(bits, at)) this.#lookAt((first + at) as TaskId);
    if (!this.#isDone) this.#below = first;
  }

  #lookAt(id: TaskId): void {
    const task = this.#read(id);
    if (task === undefined || !isAskedFor(this.#query, task.head, task.progress)) return;
    this.#found.push(id);
    if (this.#found.length === this.#query.limit) this.#isDone = true;
  }

  #read(id: TaskId): StoredTask | undefined {
    try {
      return this.#tasks.task(id);
    } catch (error) {
      if (!(error instanceof BadRecord)) throw error;
      this.#damaged.push(error.message);
      return undefined;
    }
  }

  /** The tasks of a block that may be asked for. */
  #candidates(block: TaskBlock): Bits {
    const { queue, door, state, worker, since, until, text } = this.#query;
    const bits = noBits();
    orBits(bits, block.live);
    orBits(bits, block.kept);
    if (since !== undefined || until !== undefined) {
      block.keepTimes(bits, since ?? Number.NEGATIVE_INFINITY, until ?? Number.POSITIVE_INFINITY);
    }
    const { index } = this.#tasks;
    if (queue !== undefined && !isEmpty(bits)) andBits(bits, index.bitsOf(block, queueTerm(queue)));
    if (door !== undefined && !isEmpty(bits)) andBits(bits, index.bitsOf(block, doorTerm(door)));
    if (state !== undefined && !isEmpty(bits)) {
      const live = (progress: LiveProgress) => progress.state === state;
      andBits(bits, this.#ended(block, [stateTerm(state)], live, state === "waiting"));
    }
    if (worker !== undefined && !isEmpty(bits)) {
      andBits(
        bits,
        this.#ended(block, [workerTerm(worker)], (progress) => progress.worker === worker),
      );
    }
    if (text !== undefined && !isEmpty(bits)) andBits(bits, this.#saying(block, text));
    return bits;
  }

  /** Settled tasks under one of the terms, and live ones that have come to this; with or without those only accepted. */
  #ended(
    block: TaskBlock,
    terms: readonly string[],
    isLiveOne: (progress: LiveProgress) => boolean,
    withAccepted = false,
  ): Bits {
    const bits = noBits();
    for (const term of terms) orBits(bits, this.#tasks.index.bitsOf(block, term));
    andBits(bits, block.kept);
    if (withAccepted) orBits(bits, block.live);
    for (const [offset, progress] of block.progressed) if (isLiveOne(progress)) setBit(bits, offset);
    return bits;
  }

  #saying(block: TaskBlock, text: string): Bits {
    const terms = [codeTerm(text), messageTerm(text) ?? anyErrorTerm];
    const bits = this.#ended(
      block,
      terms,
      ({ error }) => error?.code === text || error?.message.startsWith(text) === true,
    );
    const id = Number(text);
    if (Number.isSafeInteger(id) && blockOf(id) === block.index) setBit(bits, offsetOf(id));
    const first = block.index * blockSize;
    const range = { start: taskKeyKey(text, first), end: taskKeyKey(text, first + blockSize) };
    for (const key of this.#file.taskKeys.keys(range)) setBit(bits, offsetOf(taskOfTaskKey(key)));
    return bits;
  }
}
