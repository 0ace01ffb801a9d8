// Tasks in the file: their records, their places in history, and the index over them. Every method that changes
// something is called inside a transaction; if that fails, `recover` brings memory back to what the file says.

import { historySegmentOf, type StoredTask, type TaskId, type WallTime } from "@yardmaster/core";
import {
  BadRecord,
  type HeadSum,
  type ProgressSum,
  RecordReader,
  type RecordWriter,
  sumHead,
  sumProgress,
} from "../records/index.js";
import type { Batch, Place } from "./batches.js";
import { numberKey, numberOfKey, taskKeyKey } from "./keys.js";
import { type Member, type Segment, Segments } from "./segments.js";
import type { StoreBodies } from "./store-bodies.js";
import type { StoreFile } from "./store-file.js";
import { readState, type StoreState } from "./store-state.js";
import { offsetOf, type TaskBlock } from "./task-block.js";
import { TaskIndex } from "./task-index.js";
import { TaskRecords } from "./task-records.js";
import { endAlike, endedTerms, headTerms } from "./terms.js";

const sweepAtOnce = 64;

interface Finishing {
  /** What is safe already and comes after this. */
  readonly next?: readonly Batch[];
  /** So many segments that were trimmed are cleared away. */
  readonly sweepMax?: number;
  /** Nothing comes after this. */
  readonly isLast?: boolean;
}

export class TaskStore {
  readonly #file: StoreFile;
  readonly #reader: RecordReader;
  /** A batch's buffer lasts as long as it is worked on. */
  readonly #batchReader = new RecordReader();
  readonly #bodies: StoreBodies;
  readonly #state: () => StoreState;
  readonly index: TaskIndex;
  readonly segments: Segments;
  readonly #records: TaskRecords;
  /** Tasks that settled ahead of their batches: what those say of them up to there is done. */
  ahead = new Set<TaskId>();
  /** Records that the index could not be made again from, each in words. */
  damaged: string[] = [];
  /** Something happened out of the usual order, which the marks do not lead back to: the index is to be written now. */
  #mustWrite = false;
  /** What the live tasks have come to is known. */
  #knowsLive = false;

  constructor(file: StoreFile, reader: RecordReader, bodies: StoreBodies, state: () => StoreState) {
    this.#file = file;
    this.#reader = reader;
    this.#bodies = bodies;
    this.#state = state;
    this.index = new TaskIndex(file);
    this.segments = new Segments(file, reader);
    this.#records = new TaskRecords(file, reader, (task) => this.isSettled(task));
  }

  /** Makes memory what the file says: the index as it was written, and what came since, from the records themselves. */
  recover(): void {
    this.#mustWrite = false;
    this.#knowsLive = false;
    this.#records.forget();
    this.ahead = new Set();
    this.segments.forget();
    this.index.read(this.#reader);
    const { indexedTask, indexedSettled } = this.#state();
    for (const key of this.#file.heads.keys({ start: numberKey(indexedTask + 1) })) {
      const task = numberOfKey(key) as TaskId;
      const head = this.#ifSound(() => this.#records.head(task));
      if (head !== undefined) this.#enterHead(head);
      // It is there and cannot be read: whoever comes across it says so.
      else this.index.blockFor(task).accept(offsetOf(task), Number.NaN as WallTime);
    }
    for (const index of this.segments.indexes(historySegmentOf(indexedSettled + 1))) {
      for (const member of this.segments.get(index).members()) {
        if (member.settled > indexedSettled) this.#enterMember(member);
      }
    }
    for (const segment of this.segments.trimmed()) this.#hide(segment);
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

  /** A settled task's place in history. */
  placeOf(task: TaskId): number {
    return this.#records.progress(task)?.settled ?? 0;
  }

  /** Throws BadRecord where one that was accepted, or its end, is not there. */
  task(id: TaskId): StoredTask | undefined {
    if (!this.isThere(id)) return undefined;
    const task = this.#records.task(id);
    const isWhole = task !== undefined && (task.progress !== undefined || !this.isSettled(id));
    if (isWhole || this.#isFenced()) return task;
    throw this.#missing(id, task !== undefined);
  }

  /** Writes both records of a task as they are, each behind its length, if there is such a task. Throws BadRecord as `task`. */
  copyTo(to: RecordWriter, id: TaskId): void {
    if (!this.isThere(id)) return;
    const start = to.at;
    const isCopied = this.#records.copyTo(to, id);
    const headEnd = isCopied ? start + 4 + to.bytes.readUInt32LE(start) : 0;
    const isWhole = isCopied && (to.bytes.readUInt32LE(headEnd) > 0 || !this.isSettled(id));
    if (!isWhole && !this.#isFenced()) throw this.#missing(id, isCopied);
  }

  #missing(id: TaskId, hasHead: boolean): BadRecord {
    const { heads, progress } = this.#file;
    if (hasHead) return new BadRecord(`${progress.nameOf(numberKey(id))}: it ended, and how is not there`);
    return new BadRecord(`${heads.nameOf(numberKey(id))}: it was accepted and is not there`);
  }

  /** The file is another owner's, and goes on without us: what is not there may be gone for good reasons. */
  #isFenced(): boolean {
    return readState(this.#file, this.#reader).epoch !== this.#state().epoch;
  }

  /** As `copyTo`, and keeps in mind what the task has come to. */
  loadTo(to: RecordWriter, id: TaskId): void {
    const start = to.at;
    this.copyTo(to, id);
    if (to.at === start) return;
    const headEnd = start + 4 + to.bytes.readUInt32LE(start);
    const length = to.bytes.readUInt32LE(headEnd);
    if (length === 0) return;
    this.#reader.begin(to.bytes, headEnd + 4, headEnd + 4 + length);
    this.index.blockFor(id).proceed(offsetOf(id), sumProgress(this.#reader));
  }

  /** Every live task went through `loadTo`. */
  endLoad(): void {
    this.#knowsLive = true;
  }

  putHead(place: Place): void {
    this.#batchReader.begin(place.bytes, place.start, place.end);
    const head = sumHead(this.#batchReader);
    const { id } = head;
    const state = this.#state();
    const isNew = id > state.lastTask;
    const known = !isNew && this.isThere(id);
    if (isNew) {
      state.lastTask = id;
      this.#records.add(place, head);
    } else {
      this.#prepareAnew(id, known);
      this.#records.putHead(place, head);
    }
    if (head.isApart) this.#bodies.keep(id, "payload");
    if (head.key !== undefined) this.#file.taskKeys.put(taskKeyKey(head.key, id), () => {});
    this.#enterHead(head);
    const progress = known ? this.#records.progress(id) : undefined;
    if (progress !== undefined) this.#enterProgress(progress);
  }

  putProgress(place: Place): void {
    this.#batchReader.begin(place.bytes, place.start, place.end);
    const progress = sumProgress(this.#batchReader);
    const { id, settled, isApart } = progress;
    const block = this.index.block(id);
    const offset = offsetOf(id);
    if (block === undefined || !(block.isLive(offset) || block.isKept(offset))) return;
    if (isApart) this.#bodies.keep(id, "result");
    const before = block.isKept(offset) ? this.#records.progress(id) : undefined;
    if (before === undefined && settled > 0) {
      const head = this.#records.takeHead(id);
      const isBundled = this.#records.settle(id, place, !hasMore(head) && !isApart);
      return this.#enterSettled(block, progress, head, isBundled);
    }
    this.#records.putProgress(id, place);
    if (before === undefined) block.proceed(offset, progress);
    else this.#replaceSettled(block, before, progress);
  }

  /** The tasks of the segments up to and with this one are gone from now on; their records go bit by bit. */
  trim(through: number): void {
    for (const segment of this.segments.trimThrough(through)) this.#hide(segment);
  }

  /** Deletes what is left of some trimmed segments. */
  sweep(segmentsMax: number): void {
    const touched = new Set<TaskBlock>();
    const tasks: TaskId[] = [];
    for (const segment of this.segments.takeTrimmed(segmentsMax)) {
      for (let at = 0; at < segment.tasks.length; at++) {
        const task = segment.tasks[at] as TaskId;
        tasks.push(task);
        touched.add(this.index.blockFor(task));
        if (!segment.isOnlyBundled(at)) this.#delete(segment.member(at));
      }
    }
    if (tasks.length === 0) return;
    this.#records.bundles.clear(tasks, (first, last) => this.index.isAnyKept(first, last));
    // In the same transaction: nothing else says any more that these tasks are gone.
    for (const block of touched) this.index.writeBlock(block);
  }

  /**
   * Ends a transaction's changes: what gathered in memory goes to the file as well, a little of it or all. Of the tasks
   * that came with it, those that settle with the batches after it do so now: what came and went goes into bundles, wherever
   * one transaction ends and the next begins.
   */
  finish({ next = [], sweepMax = 0, isLast = false }: Finishing): void {
    const state = this.#state();
    const marks = { indexedTask: state.lastTask, indexedSettled: state.lastSettled };
    let trimmed = -1;
    for (const batch of next) {
      for (const record of batch.records) {
        if (record.trimmed > trimmed) trimmed = record.trimmed;
        if (record.settled === 0 || !this.#records.isUnsettled(record.task)) continue;
        // That trim is still to come here, and must not take what settled after it.
        if (historySegmentOf(record.settled) <= trimmed) continue;
        this.ahead.add(record.task);
        this.putProgress(record);
      }
    }
    this.#records.write();
    // Before those that were trimmed just now are written down as such: most never are.
    this.sweep(sweepMax);
    this.segments.write();
    if (this.#mustWrite || isLast) this.index.writeAll(state, marks);
    else this.index.writeSome(state, marks);
    this.#mustWrite = false;
  }

  /** Reads what the live tasks have come to, for `find`; `load` does so on its way. */
  learnLive(): void {
    if (this.#knowsLive) return;
    this.#knowsLive = true;
    for (const task of this.liveTasks()) {
      const block = this.index.blockFor(task);
      if (block.progressed.has(offsetOf(task))) continue;
      const progress = this.#records.progress(task);
      if (progress !== undefined) block.proceed(offsetOf(task), progress);
    }
  }

  /** By rising id. */
  *liveTasks(): Generator<TaskId> {
    for (let block = this.index.blockFrom(0); block; block = this.index.blockFrom(block.index + 1)) {
      yield* block.liveTasks();
    }
  }

  #enterHead(head: HeadSum): void {
    this.index.blockFor(head.id).accept(offsetOf(head.id), head.submittedAt);
    this.index.addTerms(head.id, headTerms(head));
  }

  /** A progress record was put over one that was not settled. */
  #enterProgress(progress: ProgressSum): void {
    const { id, settled } = progress;
    const block = this.index.blockFor(id);
    if (settled === 0) block.proceed(offsetOf(id), progress);
    else this.#enterSettled(block, progress, this.#records.takeHead(id), false);
  }

  #enterSettled(block: TaskBlock, progress: ProgressSum, head: HeadSum, isBundled: boolean): void {
    const { id, settled } = progress;
    const state = this.#state();
    block.settle(offsetOf(id));
    this.index.addTerms(id, endedTerms(progress));
    this.#addMember(head, progress, isBundled);
    // A place that the index in the file is thought to know.
    if (settled <= state.indexedSettled) this.#mustWrite = true;
    if (settled > state.lastSettled) state.lastSettled = settled;
  }

  /** A settled task's record is put again: a late answer in its story, or, as far as we are concerned, anything. */
  #replaceSettled(block: TaskBlock, before: ProgressSum, progress: ProgressSum): void {
    const { id, settled } = progress;
    const head = this.#records.takeHead(id);
    const member = settled === before.settled ? this.segments.member(settled, id) : undefined;
    if (member !== undefined && progress.finishedAt === before.finishedAt) {
      // In its place, where only its size may be another: to take it out could mean to look at all the others there.
      this.#addMember(head, progress, member.isBundled, before);
      if (endAlike(before, progress)) return;
      this.index.addTerms(id, endedTerms(progress));
      this.#mustWrite = true;
      return;
    }
    this.#removeMember(head, before);
    block.unsettle(offsetOf(id));
    this.#mustWrite = true;
    this.#enterProgress(progress);
  }

  /** A head comes where there is one, or was, or could have been. */
  #prepareAnew(task: TaskId, known: boolean): void {
    if (task <= this.#state().indexedTask) this.#mustWrite = true;
    if (!known) {
      // What a trim left in the file would be taken for the new task's, and the sweep would take that with it.
      const isLeft = this.#file.heads.has(numberKey(task)) || this.#records.bundles.find(task) !== undefined;
      if (isLeft) while (this.segments.hasTrimmed) this.sweep(sweepAtOnce);
      return;
    }
    this.#records.giveOwn(task);
    const head = this.#records.knownHead(task);
    if (head.key !== undefined) this.#file.taskKeys.remove(taskKeyKey(head.key, task));
    const progress = this.#records.progress(task);
    if (progress === undefined || progress.settled === 0) return;
    this.#mustWrite = true;
    this.#removeMember(head, progress);
    this.index.blockFor(task).unsettle(offsetOf(task));
  }

  /** `before`: what it was as the member that it is already. */
  #addMember(head: HeadSum, progress: ProgressSum, isBundled: boolean, before?: ProgressSum): void {
    const { id, settled, finishedAt } = progress;
    // What is put again has records of its own, whether it is in a bundle or not.
    const isInBoth = isBundled && before !== undefined;
    const member = {
      task: id,
      settled,
      isBundled,
      hasMore: isInBoth || hasMore(head) || progress.isApart || before?.isApart === true,
    };
    const bytes = progress.resultBytes + (before === undefined ? head.bytes : -before.resultBytes);
    if (before === undefined) this.segments.add(member, { bytes, finishedAt });
    else this.segments.replace(member, { bytes, finishedAt });
  }

  #removeMember(head: HeadSum, { id, settled, resultBytes, finishedAt }: ProgressSum): void {
    const finishedAtOf = (task: TaskId) => this.#records.progress(task)?.finishedAt ?? 0;
    this.segments.remove(settled, id, { bytes: head.bytes + resultBytes, finishedAt }, finishedAtOf);
  }

  /** A member of a segment that settled after the index was written. */
  #enterMember({ task, isBundled }: Member): void {
    const block = this.index.blockFor(task);
    block.settle(offsetOf(task));
    if (isBundled) {
      const head = this.#ifSound(() => this.#records.head(task));
      if (head !== undefined) this.#enterHead(head);
      block.settle(offsetOf(task));
    }
    const progress = this.#ifSound(() => this.#records.progress(task));
    if (progress !== undefined) this.index.addTerms(task, endedTerms(progress));
  }

  #ifSound<Value>(read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof BadRecord)) throw error;
      if (!this.damaged.includes(error.message)) this.damaged.push(error.message);
      return undefined;
    }
  }

  /** A trim's tasks are no longer found. */
  #hide({ tasks }: Segment): void {
    for (const task of tasks) this.index.blockFor(task).drop(offsetOf(task));
  }

  #delete({ task, hasMore }: Member): void {
    if (hasMore) {
      const head = this.#records.head(task);
      if (head?.key !== undefined) this.#file.taskKeys.remove(taskKeyKey(head.key, task));
      this.#bodies.remove(task, "payload");
      this.#bodies.remove(task, "result");
    }
    this.#records.removeOwn(task);
  }
}

/** There is something of it elsewhere: a key, or a payload that lies apart. */
function hasMore({ key, isApart }: HeadSum): boolean {
  return key !== undefined || isApart;
}
