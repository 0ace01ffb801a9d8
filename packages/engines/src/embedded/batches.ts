// Batches as bytes, on their way into the store: from the feed, or, after a crash, from the journals.

import { readFileSync } from "node:fs";
import { type Change, historySegmentOf, type TaskId } from "@yardmaster/core";
import { BadRecord, peekProgress, RecordReader, readChange, recordKinds } from "../records/index.js";
import { type BatchMark, type JournalEntry, readJournal } from "./journal-form.js";

/** Where something lies in a buffer: a record with its header, or all of a batch. */
export interface Place {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** Of a journal whose damage was seen and accepted. */
export const repairedSuffix = ".repaired";

/** As if nothing were stored. */
export const anything: BatchMark = { epoch: 0, number: 0 };

const reader = new RecordReader();

export function* changesOf(from: RecordReader, { bytes, start, end }: Place): Generator<Change> {
  for (let at = start; at < end; ) {
    const next = at + 4 + bytes.readUInt32LE(at);
    yield readChange(from, bytes, at + 4, next);
    at = next;
  }
}

/** A record of a batch, and what has to be known of it before anything is made of it. */
export interface BatchRecord extends Place {
  readonly kind: number;
  /** Of a progress. */
  readonly task: TaskId;
  /** Of a progress: the task's place in history; 0 if it has none yet. */
  readonly settled: number;
  /** Of a trim: the last segment that goes; -1 of all others. */
  readonly trimmed: number;
  /** Whether this progress is to be written. */
  isNeeded: boolean;
}

/** Each change is a record behind its length. It is read once, and looked at as one of the next and as one of these. */
export class Batch implements Place {
  readonly number: number;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  // Not in a WeakMap: what is in one outlives the next small collection, and is old then.
  #records: readonly BatchRecord[] | undefined = undefined;

  constructor(number: number, { bytes, start, end }: Place) {
    this.number = number;
    this.bytes = bytes;
    this.start = start;
    this.end = end;
  }

  get records(): readonly BatchRecord[] {
    this.#records ??= readRecords(this);
    return this.#records;
  }
}

function readRecords({ bytes, start: first, end: last }: Place): BatchRecord[] {
  const records: BatchRecord[] = [];
  for (let at = first; at < last; ) {
    const start = at + 4;
    const end = start + bytes.readUInt32LE(at);
    const kind = bytes[start + 5] as number;
    let task = 0 as TaskId;
    let settled = 0;
    let trimmed = -1;
    if (kind === recordKinds.progress) {
      reader.begin(bytes, start, end);
      ({ id: task, settled } = peekProgress(reader));
    } else if (kind === recordKinds.historyTrimmed) {
      reader.begin(bytes, start, end);
      trimmed = reader.number();
    }
    records.push({ bytes, start, end, kind, task, settled, trimmed, isNeeded: false });
    at = end;
  }
  return records;
}

/** What the store knows of tasks before it takes batches over. */
export interface KnownTasks {
  /** Settled ahead of their batches. Those that these batches settle leave it. */
  readonly ahead: Set<TaskId>;
  isSettled(task: TaskId): boolean;
  /** A settled task's place in history. */
  placeOf(task: TaskId): number;
}

/** Marks each progress that has to be written: the last of its task, and those whose place in history was used. */
export function markNeeded(batches: readonly Batch[], known: KnownTasks): void {
  const last = new Map<TaskId, BatchRecord>();
  const settledHere = new Set<TaskId>();
  /** Records that bring a task back from history. */
  const returns = new Map<TaskId, BatchRecord[]>();
  let trimmed = -1;
  for (const batch of batches) {
    for (const record of batch.records) {
      if (record.trimmed > trimmed) trimmed = record.trimmed;
      if (record.kind !== recordKinds.progress) continue;
      const { task, settled } = record;
      record.isNeeded = false;
      if (known.ahead.has(task)) {
        if (settled > 0) known.ahead.delete(task);
        continue;
      }
      const before = last.get(task);
      if (before !== undefined) before.isNeeded = false;
      if (settled > 0) {
        settledHere.add(task);
        const returned = returns.get(task);
        // Where it is already: it settled ahead, which nothing does over a trim, and what led there comes again after a crash.
        const mayBeAhead = returned !== undefined && historySegmentOf(settled) > trimmed;
        if (mayBeAhead && known.placeOf(task) === settled) for (const each of returned) each.isNeeded = false;
      }
      const isKnown = known.isSettled(task);
      // One that brings a task back from history has to be written: what is trimmed in between must not take the task along.
      if (settledHere.has(task) || isKnown) last.delete(task);
      else last.set(task, record);
      if (isKnown && !settledHere.has(task)) returns.set(task, [...(returns.get(task) ?? []), record]);
      record.isNeeded = true;
    }
  }
}

/** What the journals have beyond what is stored, in order. Throws BadRecord where something is missing in between. */
export function batchesBeyond(journals: readonly string[], stored: BatchMark): Batch[] {
  const batches: JournalEntry[] = [];
  for (const path of journals) {
    const { entries, damaged } = readJournal(ownMemory(readFileSync(path)), stored);
    const isAccepted = path.endsWith(repairedSuffix);
    if (damaged.length > 0 && !isAccepted) throw new BadRecord(`${path}: ${damaged[0]}`);
    for (const entry of entries) {
      if (entry.epoch > stored.epoch) {
        throw new BadRecord(
          `${path} was written in epoch ${entry.epoch}, and the store is of epoch ${stored.epoch}: it is an older copy`,
        );
      }
      if (entry.epoch === stored.epoch && entry.number > stored.number) batches.push(entry);
    }
  }
  batches.sort((one, other) => one.number - other.number);
  const isAccepted = journals.some((path) => path.endsWith(repairedSuffix));
  batches.forEach(({ number }, index) => {
    if (number !== stored.number + 1 + index && !isAccepted)
      throw new BadRecord(`the journal lacks batch ${stored.number + 1 + index}, and has batch ${number}`);
  });
  return batches.map((entry) => new Batch(entry.number, entry));
}

/** LMDB takes records out of a buffer that begins where its memory does; Node may put small files into a shared one. */
function ownMemory(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
