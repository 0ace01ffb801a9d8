// Tasks in the file: their records, their positions in history, and the index over them. Methods
// that change something are called inside a transaction. If it fails, `recover` reads memory again
// from the file.

import { historySegmentOf, type StoredTask, type TaskId } from "@yardmaster/core";
import type { Batch, Place } from "../durable/batches.js";
import { isBeyond, raise } from "../lane-marks.js";
import {
  type HeadSum,
  type ProgressSum,
  RecordReader,
  type RecordWriter,
  sumHead,
  sumProgress,
} from "../records/index.js";
import { extendIndex } from "./index-recovery.js";
import { numberKey, taskKeyKey } from "./keys.js";
import { missingRecord, RecordFaults } from "./record-faults.js";
import { type Member, type Segment, Segments } from "./segments.js";
import type { StoreBodies } from "./store-bodies.js";
import type { StoreFile } from "./store-file.js";
import { readState, type StoreState } from "./store-state.js";
import { offsetOf, type TaskBlock } from "./task-block.js";
import { type IndexPace, TaskIndex } from "./task-index.js";
import { TaskRecords } from "./task-records.js";
import { endAlike, endedTerms } from "./terms.js";

const sweepAtOnce = 64;

export interface TaskStoreParts {
  readonly file: StoreFile;
  readonly reader: RecordReader;
  readonly bodies: StoreBodies;
  readonly state: () => StoreState;
  readonly pace?: IndexPace | undefined;
}

interface Finishing {
  /** Later batches that are durable in the journal. */
  readonly next?: readonly Batch[];
  /** Maximum number of trimmed segments to sweep. */
  readonly sweepMax?: number;
  /** True when the store is about to be closed. */
  readonly isLast?: boolean;
}

export class TaskStore {
  readonly #file: StoreFile;
  readonly #reader: RecordReader;
  /** Reads batches, whose memory stays valid while they are applied. */
  readonly #batchReader = new RecordReader();
  readonly #bodies: StoreBodies;
  readonly #state: () => StoreState;
  readonly index: TaskIndex;
  readonly segments: Segments;
  readonly #records: TaskRecords;
  /**
   * Tasks that were settled ahead of their batches. What those batches say about them, up to the
   * settling record, is skipped.
   */
  ahead = new Set<TaskId>();
  /** Damaged records that were met while the index was rebuilt. */
  readonly faults = new RecordFaults();
  /**
   * True after a change at or below the index's marks. A rebuild after a crash would miss it, so
   * the whole index is written with this commit.
   */
  #mustWrite = false;
  /** True when the index has the state of every live task. */
  #knowsLive = false;
  /**
   * By lane, the greatest position in history of the batches applied so far. Positions taken ahead
   * of their batch do not count: the index's marks would be beyond tasks that settle later at lower
   * positions, and each of those would have the whole index written (`#mustWrite`).
   */
  #appliedSettled: number[] = [];

  constructor({ file, reader, bodies, state, pace }: TaskStoreParts) {
    this.#file = file;
    this.#reader = reader;
    this.#bodies = bodies;
    this.#state = state;
    this.index = new TaskIndex(file, pace);
    this.segments = new Segments(file, reader);
    this.#records = new TaskRecords(file, reader, (task) => this.isSettled(task));
  }

  /**
   * Reads memory again from the file: the index as it was written, and what came since from the
   * records themselves.
   */
  recover(): void {
    this.#mustWrite = false;
    this.#knowsLive = false;
    this.#records.forget();
    this.ahead = new Set();
    this.segments.forget();
    this.index.read(this.#reader);
    this.#appliedSettled = [...this.#state().indexedSettled];
    const { index, segments, faults } = this;
    extendIndex({ file: this.#file, index, segments, records: this.#records, faults }, this.#state());
    for (const segment of segments.trimmed()) this.#hide(segment);
    segments.forget();
  }

  isThere(task: TaskId): boolean {
    const block = this.index.block(task);
    const offset = offsetOf(task);
    return block !== undefined && (block.isLive(offset) || block.isKept(offset));
  }

  isSettled(task: TaskId): boolean {
    return this.index.block(task)?.isKept(offsetOf(task)) === true;
  }

  /** Throws BadRecord if a record that must exist is missing. */
  task(id: TaskId): StoredTask | undefined {
    if (!this.isThere(id)) return undefined;
    const task = this.#records.task(id);
    const isWhole = task !== undefined && (task.progress !== undefined || !this.isSettled(id));
    if (isWhole || this.#isFenced()) return task;
    throw missingRecord(this.#file, id, task !== undefined);
  }

  /**
   * Writes both records of a task, each behind its length, if the task exists. Throws BadRecord
   * like `task`.
   */
  copyTo(to: RecordWriter, id: TaskId): void {
    if (!this.isThere(id)) return;
    const start = to.at;
    const isCopied = this.#records.copyTo(to, id);
    const headEnd = isCopied ? start + 4 + to.bytes.readUInt32LE(start) : 0;
    const isWhole = isCopied && (to.bytes.readUInt32LE(headEnd) > 0 || !this.isSettled(id));
    if (!isWhole && !this.#isFenced()) throw missingRecord(this.#file, id, isCopied);
  }

  /** True if another owner has the file. It may have deleted what we miss. */
  #isFenced(): boolean {
    return readState(this.#file, this.#reader).epoch !== this.#state().epoch;
  }

  /** Like `copyTo`, and notes the task's state in the index. */
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

  /** Call when every live task went through `loadTo`. */
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
    if (head.isOutOfLine) this.#bodies.keep(id, "payload");
    if (head.key !== undefined) this.#file.taskKeys.put(taskKeyKey(head.key, id), () => {});
    this.index.addHead(head);
    const progress = known ? this.#records.progress(id) : undefined;
    if (progress !== undefined) this.#enterProgress(progress);
  }

  putProgress(place: Place): void {
    this.#batchReader.begin(place.bytes, place.start, place.end);
    const progress = sumProgress(this.#batchReader);
    const { id, settled, isOutOfLine } = progress;
    const block = this.index.block(id);
    const offset = offsetOf(id);
    if (block === undefined || !(block.isLive(offset) || block.isKept(offset))) return;
    if (isOutOfLine) this.#bodies.keep(id, "result");
    const before = block.isKept(offset) ? this.#records.progress(id) : undefined;
    if (before === undefined && settled > 0) {
      const head = this.#records.takeHead(id);
      const isBundled = this.#records.settle(id, place, !hasExtras(head) && !isOutOfLine);
      return this.#enterSettled(block, progress, head, isBundled);
    }
    this.#records.putProgress(id, place);
    if (before === undefined) block.proceed(offset, progress);
    else this.#replaceSettled(block, before, progress);
  }

  /**
   * Notes that the batch that settles this task is applied, whether or not its record must still be
   * written.
   */
  noteApplied(task: TaskId, settled: number): void {
    if (this.isThere(task)) raise(this.#appliedSettled, settled);
  }

  /**
   * Evicts the tasks of the segments up to and including this one. Their records are deleted later,
   * by `sweep`.
   */
  trim(through: number): void {
    for (const segment of this.segments.trimThrough(through)) this.#hide(segment);
  }

  /** Deletes the records of some trimmed segments. */
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
    // In the same transaction, because nothing else in the file shows that these tasks are gone.
    for (const block of touched) this.index.writeBlock(block);
  }

  /**
   * Ends the changes of a transaction: writes what was gathered in memory, and a part of the index
   * or all of it. New tasks of this transaction that settle in one of the `next` batches settle
   * now. So most short-lived tasks go into bundles, even if they settle in a later transaction.
   */
  finish({ next = [], sweepMax = 0, isLast = false }: Finishing): void {
    const state = this.#state();
    const marks = { indexedTask: state.lastTask, indexedSettled: [...this.#appliedSettled] };
    let trimmed = -1;
    for (const batch of next) {
      for (const record of batch.records) {
        if (record.trimmed > trimmed) trimmed = record.trimmed;
        if (record.settled === 0 || !this.#records.isUnsettled(record.task)) continue;
        // The trim before it has not been applied yet, and must not evict what settled after it.
        if (historySegmentOf(record.settled) <= trimmed) continue;
        this.ahead.add(record.task);
        this.putProgress(record);
      }
    }
    this.#records.write();
    // Before `segments.write`, because most segments trimmed in this transaction are swept here and
    // then need no record.
    this.sweep(sweepMax);
    this.segments.write();
    if (this.#mustWrite || isLast) this.index.writeAll(state, marks);
    else this.index.writeSome(state, marks);
    this.#mustWrite = false;
  }

  /** Reads the state of the live tasks, for `find`. A load does so on its way. */
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

  /** Notes a new progress of a task that was not settled. */
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
    // The index's marks already cover this position, in the file or once the current part is
    // written.
    if (!isBeyond(this.index.marks(state).indexedSettled, settled)) this.#mustWrite = true;
    raise(state.lastSettled, settled);
  }

  /** Replaces the progress of a settled task, for example to add a late answer to its story. */
  #replaceSettled(block: TaskBlock, before: ProgressSum, progress: ProgressSum): void {
    const { id, settled } = progress;
    const head = this.#records.takeHead(id);
    const member = settled === before.settled ? this.segments.member(settled, id) : undefined;
    if (member !== undefined && progress.finishedAt === before.finishedAt) {
      // The member stays where it is, and only its size may change. To remove it could mean reading
      // all others in its segment.
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

  /** Prepares for a head whose id is not new: the task exists, existed, or was skipped. */
  #prepareAnew(task: TaskId, known: boolean): void {
    if (task <= this.index.marks(this.#state()).indexedTask) this.#mustWrite = true;
    if (!known) {
      // Records that a trim left in the file would be mistaken for those of the new task, and swept
      // with their segment.
      const isLeft = this.#file.heads.has(numberKey(task)) || this.#records.bundles.find(task) !== undefined;
      if (isLeft) while (this.segments.hasTrimmed) this.sweep(sweepAtOnce);
      return;
    }
    this.#records.storeSeparately(task);
    const head = this.#records.knownHead(task);
    if (head.key !== undefined) this.#file.taskKeys.remove(taskKeyKey(head.key, task));
    const progress = this.#records.progress(task);
    if (progress === undefined || progress.settled === 0) return;
    this.#mustWrite = true;
    this.#removeMember(head, progress);
    this.index.blockFor(task).unsettle(offsetOf(task));
  }

  /** `before`: its progress until now, if it is a member already. */
  #addMember(head: HeadSum, progress: ProgressSum, isBundled: boolean, before?: ProgressSum): void {
    const { id, settled, finishedAt } = progress;
    // A replaced record is stored separately, even if the old one is in a bundle.
    const isInBoth = isBundled && before !== undefined;
    const member = {
      task: id,
      settled,
      isBundled,
      hasExtras: isInBoth || hasExtras(head) || progress.isOutOfLine || before?.isOutOfLine === true,
    };
    const bytes = progress.resultBytes + (before === undefined ? head.bytes : -before.resultBytes);
    if (before === undefined) this.segments.add(member, { bytes, finishedAt });
    else this.segments.replace(member, { bytes, finishedAt });
  }

  #removeMember(head: HeadSum, { id, settled, resultBytes, finishedAt }: ProgressSum): void {
    const finishedAtOf = (task: TaskId) => this.#records.progress(task)?.finishedAt ?? 0;
    this.segments.remove(settled, id, { bytes: head.bytes + resultBytes, finishedAt }, finishedAtOf);
  }

  /** The tasks of a trimmed segment are no longer found. */
  #hide({ tasks }: Segment): void {
    for (const task of tasks) this.index.blockFor(task).drop(offsetOf(task));
  }

  #delete({ task, hasExtras }: Member): void {
    if (hasExtras) {
      const head = this.#records.head(task);
      if (head?.key !== undefined) this.#file.taskKeys.remove(taskKeyKey(head.key, task));
      this.#bodies.removeUnlessLoose(task, "payload");
      this.#bodies.removeUnlessLoose(task, "result");
    }
    this.#records.removeSeparate(task);
  }
}

/** True if more than its two records must be deleted with it: a key, or an out-of-line payload. */
function hasExtras({ key, isOutOfLine }: HeadSum): boolean {
  return key !== undefined || isOutOfLine;
}
