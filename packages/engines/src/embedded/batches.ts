// Batches as bytes, on their way into the store: from the feed, or, after a crash, from the journals.

import { readFileSync } from "node:fs";
import type { Change, TaskId } from "@yardmaster/core";
import { BadRecord, peekProgress, RecordReader, readChange, recordKinds } from "../records/index.js";
import { type BatchMark, type JournalEntry, readJournal } from "./journal-form.js";

/** Where something lies in a buffer: a record with its header, or all of a batch. */
export interface Place {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** Each change is a record behind its length. */
export interface BatchBytes extends Place {
  readonly number: number;
}

/** Of a journal whose damage was seen and accepted. */
export const repairedSuffix = ".repaired";

/** As if nothing were stored. */
export const anything: BatchMark = { epoch: 0, number: 0 };

const reader = new RecordReader();

/** The records of a batch's changes. */
export function* recordsIn({ bytes, start, end }: Place): Generator<Place> {
  for (let at = start; at < end; ) {
    const next = at + 4 + bytes.readUInt32LE(at);
    yield { bytes, start: at + 4, end: next };
    at = next;
  }
}

export function* changesOf(from: RecordReader, batch: Place): Generator<Change> {
  for (const { bytes, start, end } of recordsIn(batch)) yield readChange(from, bytes, start, end);
}

export function isHead({ bytes, start }: Place): boolean {
  return bytes[start + 5] === recordKinds.head;
}

export function isProgress({ bytes, start }: Place): boolean {
  return bytes[start + 5] === recordKinds.progress;
}

/** What a progress record begins with. */
function peek({ bytes, start, end }: Place): ReturnType<typeof peekProgress> {
  reader.begin(bytes, start, end);
  return peekProgress(reader);
}

export interface Settling {
  readonly task: TaskId;
  readonly progress: Place;
}

/** The progress records with which tasks settle. */
export function* settlingsIn(batches: readonly Place[]): Generator<Settling> {
  for (const batch of batches) {
    for (const progress of recordsIn(batch)) {
      if (!isProgress(progress)) continue;
      const { id, settled } = peek(progress);
      if (settled > 0) yield { task: id, progress };
    }
  }
}

/** What the store knows of tasks before it takes batches over. */
export interface KnownTasks {
  /** Settled ahead of their batches. Those that these batches settle leave it. */
  readonly ahead: Set<TaskId>;
  isSettled(task: TaskId): boolean;
  /** A settled task's place in history. */
  placeOf(task: TaskId): number;
}

/**
 * By the changes' places among all: 1 for a progress that has to be written, because it is the last of its task, or
 * because its place in history was used.
 */
export function neededProgresses(batches: readonly BatchBytes[], known: KnownTasks): number[] {
  const marks: number[] = [];
  const places = new Map<TaskId, number>();
  const settledHere = new Set<TaskId>();
  /** Where records are that bring a task back from history. */
  const returns = new Map<TaskId, number[]>();
  for (const batch of batches) {
    for (const record of recordsIn(batch)) {
      if (!isProgress(record)) {
        marks.push(0);
        continue;
      }
      const { id, settled } = peek(record);
      if (known.ahead.has(id)) {
        if (settled > 0) known.ahead.delete(id);
        marks.push(0);
        continue;
      }
      const before = places.get(id);
      if (before !== undefined) marks[before] = 0;
      if (settled > 0) {
        settledHere.add(id);
        const returned = returns.get(id);
        // Where it is already: it settled ahead, and what led there comes again after a crash.
        if (returned !== undefined && known.placeOf(id) === settled)
          for (const each of returned) marks[each] = 0;
      }
      const isKnown = known.isSettled(id);
      // One that brings a task back from history has to be written: what is trimmed in between must not take the task along.
      if (settledHere.has(id) || isKnown) places.delete(id);
      else places.set(id, marks.length);
      if (isKnown && !settledHere.has(id)) returns.set(id, [...(returns.get(id) ?? []), marks.length]);
      marks.push(1);
    }
  }
  return marks;
}

/** What the journals have beyond what is stored, in order. Throws BadRecord where something is missing in between. */
export function batchesBeyond(journals: readonly string[], stored: BatchMark): JournalEntry[] {
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
  return batches;
}

/** LMDB takes records out of a buffer that begins where its memory does; Node may put small files into a shared one. */
function ownMemory(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
