// The journal as bytes: one entry a batch, each with a header of its own in front, on boundaries that can be looked for.
//
// An entry is written only when the one before it is on the disk. So one that is not whole is the last, and was never
// acknowledged; if a later one follows, it was whole once and is damaged.

import { checksumOf } from "../records/index.js";

/** Entries begin at multiples of this: after a damaged one the next can still be found. */
export const entryUnit = 512;
export const entryHeaderBytes = 32;

const magic = 0x64726179;
const place = { magic: 0, headerSum: 4, sum: 8, length: 12, epoch: 16, number: 24 } as const;

export interface JournalEntry extends BatchMark {
  readonly bytes: Buffer;
  /** Where the batch lies, without the header. */
  readonly start: number;
  readonly end: number;
}

export interface JournalReading {
  readonly entries: readonly JournalEntry[];
  /** Entries that were whole once, each in words. */
  readonly damaged: readonly string[];
}

/** Puts the header in front of a batch that begins behind it and ends at `end`; how many bytes are to be written. */
export function sealEntry(bytes: Buffer, end: number, epoch: number, number: number): number {
  bytes.writeUInt32LE(magic, place.magic);
  bytes.writeUInt32LE(checksumOf(bytes, entryHeaderBytes, end), place.sum);
  bytes.writeUInt32LE(end - entryHeaderBytes, place.length);
  bytes.writeDoubleLE(epoch, place.epoch);
  bytes.writeDoubleLE(number, place.number);
  bytes.writeUInt32LE(checksumOf(bytes, place.sum, entryHeaderBytes), place.headerSum);
  return entryBytes(end - entryHeaderBytes);
}

/** What an entry takes in the file. */
export function entryBytes(batchBytes: number): number {
  return Math.ceil((entryHeaderBytes + batchBytes) / entryUnit) * entryUnit;
}

/**
 * The entries of one file: those that follow each other from its beginning. What an earlier round left behind it is all
 * `stored` already, and nothing to miss.
 */
export function readJournal(bytes: Buffer, stored: BatchMark): JournalReading {
  const entries: JournalEntry[] = [];
  const damaged: string[] = [];
  let last: BatchMark | undefined;
  for (let at = 0; at + entryHeaderBytes <= bytes.length; ) {
    const header = headerAt(bytes, at);
    const isNext = header !== undefined && (last === undefined || follows(header, last));
    if (isNext && isWhole(bytes, at, header)) {
      const start = at + entryHeaderBytes;
      entries.push({ ...header, bytes, start, end: start + header.length });
      last = header;
      at += entryBytes(header.length);
      continue;
    }
    const later = laterThan(
      bytes,
      at + entryUnit,
      last !== undefined && last.number > stored.number ? last : stored,
    );
    if (later === undefined) break;
    damaged.push(`the journal at byte ${at}: what was written before batch ${later.number} is damaged`);
    last = { epoch: later.epoch, number: later.number - 1 };
    at = later.at;
  }
  return { entries, damaged };
}

/** Which batch: its number within its owner's epoch. Epoch 0 is before all. */
export interface BatchMark {
  readonly epoch: number;
  readonly number: number;
}

interface Header extends BatchMark {
  readonly length: number;
}

function headerAt(bytes: Buffer, at: number): Header | undefined {
  if (at + entryHeaderBytes > bytes.length || bytes.readUInt32LE(at + place.magic) !== magic)
    return undefined;
  const sum = bytes.readUInt32LE(at + place.headerSum);
  if (sum !== checksumOf(bytes, at + place.sum, at + entryHeaderBytes)) return undefined;
  return {
    epoch: bytes.readDoubleLE(at + place.epoch),
    number: bytes.readDoubleLE(at + place.number),
    length: bytes.readUInt32LE(at + place.length),
  };
}

function isWhole(bytes: Buffer, at: number, { length }: Header): boolean {
  const start = at + entryHeaderBytes;
  if (start + length > bytes.length) return false;
  return bytes.readUInt32LE(at + place.sum) === checksumOf(bytes, start, start + length);
}

function follows(header: Header, last: BatchMark): boolean {
  return header.epoch === last.epoch && header.number === last.number + 1;
}

/** The first whole entry from there on that was written after `last`. */
function laterThan(bytes: Buffer, from: number, last: BatchMark): (Header & { at: number }) | undefined {
  for (let at = from; at + entryHeaderBytes <= bytes.length; at += entryUnit) {
    const header = headerAt(bytes, at);
    if (header === undefined || !isWhole(bytes, at, header)) continue;
    const isOfIt = last.epoch === 0 || header.epoch === last.epoch;
    if (isOfIt && header.number > last.number) return { ...header, at };
  }
  return undefined;
}
