// Finds tasks, newest first. For each block, the bit sets of the query's terms are intersected.
// Every remaining task is read and compared with the query, so an answer always agrees with the
// records.

import type { StoredTask, TaskId } from "@yardmaster/core";
import { cursorBelow, startOf } from "../cursor.js";
import type { TaskQuery } from "../engine.js";
import { BadRecord } from "../records/index.js";
import { isAskedFor, saysMessage } from "../task-filter.js";
import { andBits, type Bits, blockSize, isEmpty, lastBitBelow, noBits, orBits, setBit } from "./bits.js";
import { idMax, taskKeyKey, taskOfTaskKey } from "./keys.js";
import type { StoreFile } from "./store-file.js";
import { blockOf, type LiveProgress, offsetOf, type TaskBlock } from "./task-block.js";
import type { TaskStore } from "./task-store.js";
import {
  anyErrorTerm,
  codeTerm,
  doorTerm,
  messageTerm,
  queueTerm,
  stateTerm,
  wordTerms,
  workerTerm,
} from "./terms.js";

/** The tasks of a block that match one part of a query; undefined if none does. */
type Narrowing = (block: TaskBlock) => Bits | undefined;

/** Tasks that are read between two checks of the time limit. */
const tasksAtOnce = 64;

export class TaskSearch {
  readonly #file: StoreFile;
  readonly #tasks: TaskStore;
  readonly #query: TaskQuery;
  readonly #found: TaskId[] = [];
  readonly #damaged = new Set<string>();
  readonly #narrowings: readonly Narrowing[];
  /** True if the query's text is the idempotency key of some task. */
  readonly #isKey: boolean;
  /** Tasks below this id have not been looked at. */
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

  /**
   * Searches until about this time limit and returns true when it is finished. Commits may happen
   * between two calls, because the walk goes from high ids to low ones.
   */
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

  /** The cursor of the next page; undefined if there is none. */
  get cursor(): string | undefined {
    const last = this.#found.at(-1);
    const isFull = this.#found.length === this.#query.limit && last !== undefined;
    return isFull ? cursorBelow(last, this.#query) : undefined;
  }

  /** Descriptions of damaged records that were skipped. */
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

  /**
   * The tasks of a block that may match; undefined if there are none. Narrowings come with the
   * rarest terms first.
   */
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
      block.narrowToTimes(bits, since, until);
    return isEmpty(bits) ? undefined : bits;
  }

  /** The parts of the query, each as a function that returns the matching tasks of a block. */
  #narrowingsOf({ queue, door, state, worker, text, messagePrefix }: TaskQuery): Narrowing[] {
    const { index } = this.#tasks;
    const narrowings: Narrowing[] = [];
    if (text !== undefined) narrowings.push((block) => this.#saying(block, text));
    if (messagePrefix !== undefined) {
      const terms = [messageTerm(messagePrefix) ?? anyErrorTerm];
      const fits = ({ error }: LiveProgress) => error?.message.startsWith(messagePrefix) === true;
      narrowings.push((block) => this.#ended(block, terms, fits));
    }
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

  /**
   * Settled tasks with one of the terms, and live ones that match. `withAccepted`: also live tasks
   * without a progress record.
   */
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
      ({ error }) => error !== undefined && (error.code === text || saysMessage(error.message, text)),
    );
    const withWords = this.#withWords(block, text);
    if (withWords !== undefined) {
      bits ??= noBits();
      orBits(bits, withWords);
    }
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

  /** Settled tasks whose messages may contain all words of the text. */
  #withWords(block: TaskBlock, text: string): Bits | undefined {
    let bits: Bits | undefined;
    for (const term of wordTerms(text) ?? [anyErrorTerm]) {
      const those = this.#tasks.index.bitsOf(block, term);
      if (those === undefined) return undefined;
      if (bits === undefined) bits = those;
      else andBits(bits, those);
    }
    if (bits !== undefined) andBits(bits, block.kept);
    return bits;
  }

  /** The tasks with this idempotency key, with ids from `from` up to, but not including, `to`. */
  #tasksOfKey(text: string, from: number, to: number, limit?: number): TaskId[] {
    const end = Math.min(to, idMax);
    const range = { start: taskKeyKey(text, from), end: taskKeyKey(text, end) };
    return this.#file.taskKeys.keys(limit === undefined ? range : { ...range, limit }).map(taskOfTaskKey);
  }
}
