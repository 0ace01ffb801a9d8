// Finds tasks, newest first. For each block the sets of the terms asked for are cut with each other; what is left is read
// and looked at, so that an answer is always what the records say.

import type { StoredTask, TaskId } from "@yardmaster/core";
import { cursorBelow, startOf } from "../cursor.js";
import type { TaskQuery } from "../engine.js";
import { BadRecord } from "../records/index.js";
import { isAskedFor } from "../task-filter.js";
import { andBits, type Bits, blockSize, isEmpty, lastBitBelow, noBits, orBits, setBit } from "./bits.js";
import { idMax, taskKeyKey, taskOfTaskKey } from "./keys.js";
import type { StoreFile } from "./store-file.js";
import { blockOf, type LiveProgress, offsetOf, type TaskBlock } from "./task-block.js";
import type { TaskStore } from "./task-store.js";
import { anyErrorTerm, codeTerm, doorTerm, messageTerm, queueTerm, stateTerm, workerTerm } from "./terms.js";

/** The tasks of a block that fit a part of a query; undefined if none does. */
type Narrowing = (block: TaskBlock) => Bits | undefined;

/** Tasks that are looked at before it is asked whether others should have their turn. */
const tasksAtOnce = 64;

export class TaskSearch {
  readonly #file: StoreFile;
  readonly #tasks: TaskStore;
  readonly #query: TaskQuery;
  readonly #found: TaskId[] = [];
  readonly #damaged = new Set<string>();
  readonly #narrowings: readonly Narrowing[];
  /** The text is some task's key. */
  readonly #isKey: boolean;
  /** What is below is still to be looked at. */
  #below: number;
  #isDone = false;

  /** Throws CursorMismatch. */
  constructor(file: StoreFile, tasks: TaskStore, query: TaskQuery) {
    this.#file = file;
    this.#tasks = tasks;
    this.#query = query;
    this.#below = startOf(query);
    this.#isKey =
      query.text !== undefined && this.#tasksOfKey(query.text, 0, Number.MAX_SAFE_INTEGER, 1).length > 0;
    this.#narrowings = this.#narrowingsOf(query);
    tasks.learnLive();
  }

  /** Looks for at most about so long; whether it is done. Commits may come in between: the walk goes by falling id. */
  step(isOverdue: () => boolean): boolean {
    while (!this.#isDone) {
      this.#lookAtBlock(isOverdue);
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
    return [...this.#damaged];
  }

  #lookAtBlock(isOverdue: () => boolean): void {
    const block = this.#tasks.index.blockUpTo(blockOf(this.#below - 1));
    if (block === undefined || this.#below <= 1) {
      this.#isDone = true;
      return;
    }
    const first = block.index * blockSize;
    const bits = this.#candidates(block);
    let at = bits === undefined ? -1 : lastBitBelow(bits, Math.min(blockSize, this.#below - first));
    for (let looked = 1; at >= 0 && !this.#isDone; at = lastBitBelow(bits as Bits, at), looked++) {
      this.#lookAt((first + at) as TaskId);
      this.#below = first + at;
      if (looked % tasksAtOnce === 0 && isOverdue()) return;
    }
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
      this.#damaged.add(error.message);
      return undefined;
    }
  }

  /** The tasks of a block that may be asked for; undefined if there are none. What is rare is looked up first. */
  #candidates(block: TaskBlock): Bits | undefined {
    const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = this.#query;
    const bits = noBits();
    orBits(bits, block.live);
    orBits(bits, block.kept);
    for (const narrow of this.#narrowings) {
      const narrower = narrow(block);
      if (narrower === undefined) return undefined;
      andBits(bits, narrower);
    }
    if (this.#query.since !== undefined || this.#query.until !== undefined)
      block.keepTimes(bits, since, until);
    return isEmpty(bits) ? undefined : bits;
  }

  /** What the query asks for, each as the tasks of a block that fit it. */
  #narrowingsOf({ queue, door, state, worker, text }: TaskQuery): Narrowing[] {
    const { index } = this.#tasks;
    const narrowings: Narrowing[] = [];
    if (text !== undefined) narrowings.push((block) => this.#saying(block, text));
    if (worker !== undefined) {
      const fits = (progress: LiveProgress) => progress.worker === worker;
      narrowings.push((block) => this.#ended(block, [workerTerm(worker)], fits));
    }
    if (state !== undefined) {
      const fits = (progress: LiveProgress) => progress.state === state;
      narrowings.push((block) => this.#ended(block, [stateTerm(state)], fits, state === "waiting"));
    }
    if (queue !== undefined) narrowings.push((block) => index.bitsOf(block, queueTerm(queue)));
    if (door !== undefined) narrowings.push((block) => index.bitsOf(block, doorTerm(door)));
    return narrowings;
  }

  /** Settled tasks under one of the terms, and live ones that have come to this; with or without those only accepted. */
  #ended(
    block: TaskBlock,
    terms: readonly string[],
    isLiveOne: (progress: LiveProgress) => boolean,
    withAccepted = false,
  ): Bits | undefined {
    let bits: Bits | undefined;
    for (const term of terms) {
      const ended = this.#tasks.index.bitsOf(block, term);
      if (bits === undefined) bits = ended;
      else if (ended !== undefined) orBits(bits, ended);
    }
    if (bits !== undefined) andBits(bits, block.kept);
    if (withAccepted) {
      bits ??= noBits();
      orBits(bits, block.live);
    }
    for (const [offset, progress] of block.progressed) {
      if (!isLiveOne(progress)) continue;
      bits ??= noBits();
      setBit(bits, offset);
    }
    return bits;
  }

  #saying(block: TaskBlock, text: string): Bits | undefined {
    const terms = [codeTerm(text), messageTerm(text) ?? anyErrorTerm];
    let bits = this.#ended(
      block,
      terms,
      ({ error }) => error?.code === text || error?.message.startsWith(text) === true,
    );
    const id = Number(text);
    if (Number.isSafeInteger(id) && blockOf(id) === block.index) {
      bits ??= noBits();
      setBit(bits, offsetOf(id));
    }
    if (!this.#isKey) return bits;
    const first = block.index * blockSize;
    for (const task of this.#tasksOfKey(text, first, first + blockSize)) {
      bits ??= noBits();
      setBit(bits, offsetOf(task));
    }
    return bits;
  }

  /** Those of an idempotency key from one id up to another. */
  #tasksOfKey(text: string, from: number, to: number, limit?: number): TaskId[] {
    const end = Math.min(to, idMax);
    const range = { start: taskKeyKey(text, from), end: taskKeyKey(text, end) };
    return this.#file.taskKeys.keys(limit === undefined ? range : { ...range, limit }).map(taskOfTaskKey);
  }
}
