// Batches as bytes, on their way to the store. They come from the commit, or from the journal after
// a crash.

import type { Change, TaskId } from "@yardmaster/core";
import { peekProgress, RecordReader, readChange, recordKinds } from "../records/index.js";

/** The place of a record with its header, or of a whole batch, in a buffer. */
export interface Place {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

const reader = new RecordReader();

export function* changesOf(from: RecordReader, { bytes, start, end }: Place): Generator<Change> {
  for (let at = start; at < end; ) {
    const next = at + 4 + bytes.readUInt32LE(at);
    yield readChange(from, bytes, at + 4, next);
    at = next;
  }
}

/** A record of a batch, with the fields that are needed before it is decoded. */
export interface BatchRecord extends Place {
  readonly kind: number;
  /** The task of a head or a progress; otherwise 0. */
  readonly task: TaskId;
  /** The place in history that a progress gives its task; 0 if none. */
  readonly settled: number;
  /** The last segment that a trim evicts; otherwise -1. */
  readonly trimmed: number;
  /** True for a progress that the store must write. */
  isNeeded: boolean;
}

/** Each change is a record behind its length. Its records are parsed once, at the first use. */
export class Batch implements Place {
  readonly number: number;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  // Not in a WeakMap: its entries survive the next young collection, and are promoted by it.
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
    } else if (kind === recordKinds.head) {
      reader.begin(bytes, start, end);
      task = reader.number() as TaskId;
    } else if (kind === recordKinds.historyTrimmed) {
      reader.begin(bytes, start, end);
      trimmed = reader.number();
    }
    records.push({ bytes, start, end, kind, task, settled, trimmed, isNeeded: false });
    at = end;
  }
  return records;
}
