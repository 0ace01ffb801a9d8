// Tasks in the file: their two records, their places in history, and the index over them. Every method that changes
// something is called inside a transaction; if that fails, `recover` brings memory back to what the file says.

import {
  historySegmentOf,
  type StoredTask,
  storedBytes,
  type TaskHead,
  type TaskId,
  type TaskProgress,
  type WallTime,
} from "@yardmaster/core";
import { BadRecord, type RecordReader, type RecordWriter, readHead, readProgress } from "../records/index.js";
import { numberKey, numberOfKey, taskKeyKey } from "./keys.js";
import { type Member, Segments, type Share } from "./segments.js";
import { isApart, type StoreBodies } from "./store-bodies.js";
import type { StoreFile } from "./store-file.js";
import type { StoreState } from "./store-state.js";
import { offsetOf, type TaskBlock } from "./task-block.js";
import { TaskIndex } from "./task-index.js";
import { endAlike, endedTerms, headTerms } from "./terms.js";

/** Where a record lies that came with a batch. */
export interface Place {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

const sweepAtOnce = 64;

/** Of so many tasks history's sums need no second look at the head; those that wait longer are read again. */
const recentMax = 65_536;

export class TaskStore {
  readonly #file: StoreFile;
  readonly #reader: RecordReader;
  readonly #bodies: StoreBodies;
  readonly #state: () => StoreState;
  readonly index: TaskIndex;
  readonly segments: Segments;
  /** Records that the index could not be made again from, each in words. */
  damaged: string[] = [];
  /** Something happened out of the usual order, which the marks do not lead back to: the index is to be written now. */
  #mustWrite = false;
  /** What the live tasks have come to is known. */
  #knowsLive = false;
  /** Of tasks accepted lately: what history will need of their heads. */
  readonly #recent = new Map<TaskId, HeadSum>();

  constructor(file: StoreFile, reader: RecordReader, bodies: StoreBodies, state: () => StoreState) {
    this.#file = file;
    this.#reader = reader;
    this.#bodies = bodies;
    this.#state = state;
    this.index = new TaskIndex(file);
    this.segments = new Segments(file, reader);
  }

  /** Makes memory what the file says: the index as it was written, and what came since, from the records themselves. */
  recover(): void {
    this.#mustWrite = false;
    this.#knowsLive = false;
    this.#recent.clear();
    this.segments.forget();
    this.index.read(this.#reader);
    const { indexedTask, indexedSettled } = this.#state();
    for (const key of this.#file.heads.keys({ start: numberKey(indexedTask + 1) })) {
      const task = numberOfKey(key) as TaskId;
      const head = this.#ifSound(() => this.head(task));
      if (head !== undefined) this.#enterHead(head);
      // It is there and cannot be read: whoever comes across it says so.
      else this.index.blockFor(task).accept(offsetOf(task), Number.NaN as WallTime);
    }
    for (const index of this.segments.indexes(historySegmentOf(indexedSettled + 1))) {
      for (const member of this.segments.get(index).members.values()) {
        if (member.settled > indexedSettled) this.#enterMember(member);
      }
    }
    for (const { members } of this.segments.trimmed()) this.#hide(members.values());
    this.segments.forget();
  }

  isThere(task: TaskId): boolean {
    const block = this.index.block(task);
    const offset = offsetOf(task);
    return block !== undefined && (block.isLive(offset) || block.isKept(offset));
  }

  isSettled(task: TaskId): boolean {
    return this.index.block(task)?.isKept(offsetOf(task)) === true;
  }

  head(task: TaskId): TaskHead | undefined {
    const bytes = this.#file.heads.read(numberKey(task));
    if (bytes === undefined) return undefined;
    this.#reader.begin(bytes, 0, bytes.length);
    return readHead(this.#reader);
  }

  progress(task: TaskId): TaskProgress | undefined {
    const bytes = this.#file.progress.read(numberKey(task));
    if (bytes === undefined) return undefined;
    this.#reader.begin(bytes, 0, bytes.length);
    return readProgress(this.#reader);
  }

  task(id: TaskId): StoredTask | undefined {
    if (!this.isThere(id)) return undefined;
    const head = this.head(id);
    return head && { head, progress: this.progress(id) };
  }

  /** Writes both records of a task as they are, each behind its length; whether there is such a task. */
  copyTo(to: RecordWriter, id: TaskId): boolean {
    if (!this.isThere(id)) return false;
    const head = this.#file.heads.read(numberKey(id));
    if (head === undefined) return false;
    writeFramed(to, head);
    const progress = this.#file.progress.read(numberKey(id));
    writeFramed(to, progress);
    return true;
  }

  /** As `copyTo`, and keeps in mind what the task has come to. */
  loadTo(to: RecordWriter, id: TaskId): void {
    const start = to.at;
    if (!this.copyTo(to, id)) {
      throw new BadRecord(`${this.#file.heads.nameOf(numberKey(id))}: it was accepted and is not there`);
    }
    const headEnd = start + 4 + to.bytes.readUInt32LE(start);
    const length = to.bytes.readUInt32LE(headEnd);
    if (length === 0) return;
    this.#reader.begin(to.bytes, headEnd + 4, headEnd + 4 + length);
    this.index.blockFor(id).proceed(offsetOf(id), readProgress(this.#reader));
  }

  /** Every live task went through `loadTo`. */
  endLoad(): void {
    this.#knowsLive = true;
  }

  putHead(head: TaskHead, { bytes, start, end }: Place): void {
    const state = this.#state();
    const known = this.isThere(head.id);
    if (head.id <= state.lastTask) this.#prepareAnew(head.id, known);
    this.#file.heads.write(numberKey(head.id), bytes, start, end);
    if (isApart(head.payload)) this.#bodies.keep(head.id, "payload");
    if (head.key !== undefined) this.#file.taskKeys.put(taskKeyKey(head.key, head.id), () => {});
    this.#enterHead(head);
    if (this.#recent.size < recentMax || known) this.#recent.set(head.id, sumOf(head));
    if (head.id > state.lastTask) state.lastTask = head.id;
    const progress = known ? this.progress(head.id) : undefined;
    if (progress !== undefined) this.#enterProgress(progress);
  }

  putProgress(progress: TaskProgress, { bytes, start, end }: Place): void {
    const { id, settled } = progress;
    const block = this.index.block(id);
    const offset = offsetOf(id);
    if (block === undefined || !(block.isLive(offset) || block.isKept(offset))) return;
    const before = block.isKept(offset) ? this.progress(id) : undefined;
    this.#file.progress.write(numberKey(id), bytes, start, end);
    if (isApart(progress.result)) this.#bodies.keep(id, "result");
    if (before !== undefined) this.#replaceSettled(block, before, progress);
    else if (settled === 0) block.proceed(offset, progress);
    else this.#enterProgress(progress);
  }

  /** The tasks of the segments up to and with this one are gone from now on; their records go bit by bit. */
  trim(through: number): void {
    for (const { members } of this.segments.trimThrough(through)) this.#hide(members.values());
  }

  /** Deletes what is left of some trimmed segments; whether there may be more. */
  sweep(segmentsMax: number): boolean {
    const touched = new Set<TaskBlock>();
    const swept = this.segments.takeTrimmed(segmentsMax);
    for (const { members } of swept) {
      for (const member of members.values()) {
        this.#delete(member);
        touched.add(this.index.blockFor(member.task));
      }
    }
    // In the same transaction: nothing else says any more that these tasks are gone.
    for (const block of touched) this.index.writeBlock(block);
    return swept.length === segmentsMax;
  }

  /** Ends a transaction's changes: what gathered in memory goes to the file as well, a little of it or all. */
  finish(isLast = false): void {
    this.segments.write();
    if (this.#mustWrite || isLast) this.index.writeAll(this.#state());
    else this.index.writeSome(this.#state());
    this.#mustWrite = false;
  }

  /** Reads what the live tasks have come to, for `find`; `load` does so on its way. */
  learnLive(): void {
    if (this.#knowsLive) return;
    this.#knowsLive = true;
    for (const task of this.liveTasks()) {
      const block = this.index.blockFor(task);
      if (block.progressed.has(offsetOf(task))) continue;
      const progress = this.progress(task);
      if (progress !== undefined) block.proceed(offsetOf(task), progress);
    }
  }

  /** By rising id. */
  *liveTasks(): Generator<TaskId> {
    for (let block = this.index.blockFrom(0); block; block = this.index.blockFrom(block.index + 1)) {
      yield* block.liveTasks();
    }
  }

  #headOf(task: TaskId): TaskHead {
    const head = this.head(task);
    if (head === undefined) throw new Error(`task ${task} is in the index and has no head`);
    return head;
  }

  #enterHead(head: TaskHead): void {
    this.index.blockFor(head.id).accept(offsetOf(head.id), head.submittedAt);
    this.index.addTerms(head.id, headTerms(head));
  }

  /** A progress record was put over one that was not settled. */
  #enterProgress(progress: TaskProgress): void {
    const { id, settled } = progress;
    const block = this.index.blockFor(id);
    if (settled === 0) return block.proceed(offsetOf(id), progress);
    const state = this.#state();
    block.settle(offsetOf(id));
    this.index.addTerms(id, endedTerms(progress));
    this.#addMember(this.#takeSum(id), progress);
    // A place that the index in the file is thought to know.
    if (settled <= state.indexedSettled) this.#mustWrite = true;
    if (settled > state.lastSettled) state.lastSettled = settled;
  }

  /** A settled task's record is put again: a late answer in its story, or, as far as we are concerned, anything. */
  #replaceSettled(block: TaskBlock, before: TaskProgress, progress: TaskProgress): void {
    const { id, settled } = progress;
    const sum = this.#takeSum(id);
    const isInPlace = settled === before.settled && this.segments.has(settled, id);
    if (isInPlace && progress.finishedAt === before.finishedAt) {
      // In its place, where only its size may be another: to take it out could mean to look at all the others there.
      this.#addMember(sum, progress, before);
      if (endAlike(before, progress)) return;
      this.index.addTerms(id, endedTerms(progress));
      this.#mustWrite = true;
      return;
    }
    this.#removeMember(sum, before);
    block.unsettle(offsetOf(id));
    this.#mustWrite = true;
    this.#enterProgress(progress);
  }

  #takeSum(task: TaskId): HeadSum {
    const sum = this.#recent.get(task);
    if (sum === undefined) return sumOf(this.#headOf(task));
    this.#recent.delete(task);
    return sum;
  }

  /** A head comes where there is one, or was, or could have been. */
  #prepareAnew(task: TaskId, known: boolean): void {
    if (task <= this.#state().indexedTask) this.#mustWrite = true;
    if (!known) {
      // What a trim left in the file would be taken for the new task's, and the sweep would take that with it.
      if (this.#file.heads.has(numberKey(task))) while (this.sweep(sweepAtOnce));
      return;
    }
    const head = this.#headOf(task);
    if (head.key !== undefined) this.#file.taskKeys.remove(taskKeyKey(head.key, task));
    const progress = this.progress(task);
    if (progress === undefined || progress.settled === 0) return;
    this.#mustWrite = true;
    this.#removeMember(sumOf(head), progress);
    this.index.blockFor(task).unsettle(offsetOf(task));
  }

  /** `before`: what it was as the member that it is already. */
  #addMember(sum: HeadSum, progress: TaskProgress, before?: TaskProgress): void {
    const { id, settled, result } = progress;
    const hasMore = sum.hasMore || isApart(result) || isApart(before?.result);
    const { bytes, finishedAt } = shareOf(sum, progress);
    const bytesBefore = before === undefined ? 0 : shareOf(sum, before).bytes;
    this.segments.add({ task: id, settled, hasMore }, { bytes: bytes - bytesBefore, finishedAt });
  }

  #removeMember(sum: HeadSum, progress: TaskProgress): void {
    const { id, settled } = progress;
    this.segments.remove(settled, id, shareOf(sum, progress), (task) => this.progress(task)?.finishedAt ?? 0);
  }

  /** A member of a segment that settled after the index was written. */
  #enterMember({ task }: Member): void {
    const progress = this.#ifSound(() => this.progress(task));
    this.index.blockFor(task).settle(offsetOf(task));
    if (progress !== undefined) this.index.addTerms(task, endedTerms(progress));
  }

  #ifSound<Value>(read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof BadRecord)) throw error;
      this.damaged.push(error.message);
      return undefined;
    }
  }

  /** A trim's tasks are no longer found. */
  #hide(members: Iterable<Member>): void {
    for (const { task } of members) this.index.blockFor(task).drop(offsetOf(task));
  }

  #delete({ task, hasMore }: Member): void {
    if (hasMore) {
      const head = this.head(task);
      if (head?.key !== undefined) this.#file.taskKeys.remove(taskKeyKey(head.key, task));
      this.#bodies.remove(task, "payload");
      this.#bodies.remove(task, "result");
    }
    this.#file.heads.remove(numberKey(task));
    this.#file.progress.remove(numberKey(task));
  }
}

function writeFramed(to: RecordWriter, bytes: Buffer | undefined): void {
  to.reserve(4);
  to.at = to.bytes.writeUInt32LE(bytes?.length ?? 0, to.at);
  if (bytes !== undefined) to.copy(bytes, bytes.length);
}

interface HeadSum {
  readonly bytes: number;
  /** A key, or a payload that lies apart. */
  readonly hasMore: boolean;
}

function sumOf(head: TaskHead): HeadSum {
  return { bytes: storedBytes(head, undefined), hasMore: head.key !== undefined || isApart(head.payload) };
}

function shareOf({ bytes }: HeadSum, { result, finishedAt }: TaskProgress): Share {
  return { bytes: bytes + (result?.size ?? 0), finishedAt: finishedAt ?? 0 };
}
