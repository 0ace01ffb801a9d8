// The tail: committed batches that the store does not have yet. What they say is laid over what the
// store answers, so a read never makes the store write.
//
// Batches are kept as bytes, and their records are only parsed when there is a read. A change is
// absolute, so it may be laid over an answer that has it already. Only a trim may not: a task that
// settles in a trimmed segment after the trim stays. So every answer of the store says up to which
// batch it has everything, and only later batches are laid over it.

import { Fifo, historyLaneOf, historySegmentOf, type StoredTask, type TaskId } from "@yardmaster/core";
import { RecordReader, readChange, recordKinds } from "../records/index.js";
import type { Batch, BatchRecord } from "./batches.js";

/** Copies byte fields, because a batch's memory is reused when the store has the batch. */
const reader = new RecordReader({ copies: true });
/** Gives views of a batch's memory, for fields that are not kept. */
const viewing = new RecordReader();

/** A batch with its records by their subject. They are sorted at the first read. */
class TailBatch {
  readonly batch: Batch;
  /** Heads with greater ids are those of new tasks: the store has nothing about these. */
  readonly lastTask: number;
  #tasks: Map<TaskId, BatchRecord[]> | undefined;
  #memos: Map<string, BatchRecord> | undefined;
  #trims: BatchRecord[] = [];

  constructor(batch: Batch, lastTask: number) {
    this.batch = batch;
    this.lastTask = lastTask;
  }

  get tasks(): ReadonlyMap<TaskId, BatchRecord[]> {
    return this.#tasks ?? this.#sort();
  }

  get memos(): ReadonlyMap<string, BatchRecord> {
    if (this.#tasks === undefined) this.#sort();
    return this.#memos ?? noMemos;
  }

  get trims(): readonly BatchRecord[] {
    if (this.#tasks === undefined) this.#sort();
    return this.#trims;
  }

  /** What happened to this task, in order. */
  recordsOf(task: TaskId): readonly BatchRecord[] {
    const own = this.tasks.get(task) ?? [];
    if (this.#trims.length === 0) return own;
    return [...own, ...this.#trims].sort((one, other) => one.start - other.start);
  }

  #sort(): Map<TaskId, BatchRecord[]> {
    const tasks = new Map<TaskId, BatchRecord[]>();
    for (const record of this.batch.records) {
      const { kind, task } = record;
      if (kind === recordKinds.head || kind === recordKinds.progress) {
        const own = tasks.get(task);
        if (own === undefined) tasks.set(task, [record]);
        else own.push(record);
      } else if (kind === recordKinds.historyTrimmed) this.#trims.push(record);
      else if (kind === recordKinds.memo || kind === recordKinds.memoGone) this.#noteMemo(record);
    }
    this.#tasks = tasks;
    return tasks;
  }

  #noteMemo(record: BatchRecord): void {
    const change = readChange(viewing, record.bytes, record.start, record.end);
    this.#memos ??= new Map();
    if (change.kind === "memo") this.#memos.set(memoName(change.memo.door, change.memo.name), record);
    else if (change.kind === "memo-gone") this.#memos.set(memoName(change.door, change.name), record);
  }
}

const noMemos: ReadonlyMap<string, BatchRecord> = new Map();

function memoName(door: string, name: string): string {
  return `${door}\0${name}`;
}

/** What the tail knows of something without the store. */
export type FromTail<Value> =
  | { readonly isKnown: true; readonly value: Value | undefined }
  | { readonly isKnown: false };

const unknown: FromTail<never> = { isKnown: false };

export class Tail {
  readonly #batches = new Fifo<TailBatch>();
  /** The store has the batches up to this one, and they are no longer here. */
  storedThrough = 0;
  /** The greatest id of a head so far. */
  #lastTask: number;

  /** `lastTask`: the greatest id that the store has. */
  constructor(lastTask: number) {
    this.#lastTask = lastTask;
  }

  /** `lastTask`: the greatest id of a head in it; 0 if it has none. */
  add(batch: Batch, lastTask: number): void {
    this.#batches.push(new TailBatch(batch, this.#lastTask));
    if (lastTask > this.#lastTask) this.#lastTask = lastTask;
  }

  /** The store has the batches up to this one. */
  stored(through: number): void {
    this.storedThrough = through;
    for (let first = this.#batches.first(); first && first.batch.number <= through; ) {
      this.#batches.shift();
      first = this.#batches.first();
    }
  }

  /** A task about which the store has nothing, or nothing that matters. */
  task(id: TaskId): FromTail<StoredTask> {
    for (const { tasks, lastTask } of this.#batches) {
      if (id > lastTask && tasks.has(id)) return { isKnown: true, value: this.over(undefined, id, 0) };
    }
    return unknown;
  }

  /**
   * A task as it is now, if the store answered this after batch `through`, which is not before
   * `storedThrough`.
   */
  over(stored: StoredTask | undefined, id: TaskId, through: number): StoredTask | undefined {
    let task = stored;
    for (const batch of this.#batches) {
      if (batch.batch.number <= through) continue;
      for (const record of batch.recordsOf(id)) task = after(task, record);
    }
    return task;
  }

  /** The tasks below this id that it says something about. */
  touched(below: number): Set<TaskId> {
    const touched = new Set<TaskId>();
    for (const { tasks } of this.#batches) for (const id of tasks.keys()) if (id < below) touched.add(id);
    return touched;
  }

  memo(door: string, name: string): FromTail<Uint8Array> {
    let last: BatchRecord | undefined;
    for (const { memos } of this.#batches) last = memos.get(memoName(door, name)) ?? last;
    if (last === undefined) return unknown;
    const change = readChange(reader, last.bytes, last.start, last.end);
    return { isKnown: true, value: change.kind === "memo" ? change.memo.bytes : undefined };
  }
}

/** A task after one more record, which is about this task or trims history. */
function after(task: StoredTask | undefined, record: BatchRecord): StoredTask | undefined {
  if (record.kind === recordKinds.historyTrimmed) return isTrimmed(task, record.trimmed) ? undefined : task;
  const change = readChange(reader, record.bytes, record.start, record.end);
  if (change.kind === "head") return { head: change.head, progress: task?.progress };
  if (change.kind !== "progress" || task === undefined) return task;
  return { head: task.head, progress: change.progress };
}

function isTrimmed(task: StoredTask | undefined, through: number): boolean {
  const settled = task?.progress?.settled ?? 0;
  if (settled === 0) return false;
  const segment = historySegmentOf(settled);
  return segment <= through && historyLaneOf(segment) === historyLaneOf(through);
}
