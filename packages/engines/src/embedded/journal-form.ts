// The journal's bytes. Each batch is one entry: a header, then the batch, padded to a boundary of
// 512 bytes, so that the next entry can be found behind a damaged one.
//
// An entry is written only when the one before it is durable. So an incomplete entry at the end was
// never acknowledged. An incomplete entry that is followed by a later one was complete once: it is
// damaged.

import { checksumOf } from "../records/index.js";

/** Entries start at multiples of this. */
export const entryUnit = 512;
export const entryHeaderBytes = 32;

const magic = 0x64726179;
const offsets = { magic: 0, headerSum: 4, sum: 8, length: 12, epoch: 16, number: 24 } as const;

export interface JournalEntry extends BatchMark {
  readonly bytes: Buffer;
  /** Offsets of the batch, without its header. */
  readonly start: number;
  readonly end: number;
}

export interface JournalReading {
  readonly entries: readonly JournalEntry[];
  /** Descriptions of entries that were complete once and are damaged. */
  readonly damaged: readonly string[];
}

/**
 * Writes the header of a batch that starts right behind it and ends at `end`. Returns the number of
 * bytes to write.
 */
export function sealEntry(bytes: Buffer, end: number, epoch: number, number: number): number {
  bytes.writeUInt32LE(magic, offsets.magic);
  bytes.writeUInt32LE(checksumOf(bytes, entryHeaderBytes, end), offsets.sum);
  bytes.writeUInt32LE(end - entryHeaderBytes, offsets.length);
  bytes.writeDoubleLE(epoch, offsets.epoch);
  bytes.writeDoubleLE(number, offsets.number);
  bytes.writeUInt32LE(checksumOf(bytes, offsets.sum, entryHeaderBytes), offsets.headerSum);
  return entryBytes(end - entryHeaderBytes);
}

/** The size of an entry in the file. */
export function entryBytes(batchBytes: number): number {
  return Math.ceil((entryHeaderBytes + batchBytes) / entryUnit) * entryUnit;
}

/**
 * The entries of one file, from its start, as long as each follows the one before. Entries behind
 * them are left from an earlier round; the store has those (`stored`), so they are not missed.
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

/** Identifies a batch: its number within its owner's epoch. Epoch 0 is before all others. */
export interface BatchMark {
  readonly epoch: number;
  readonly number: number;
}

interface Header extends BatchMark {
  readonly length: number;
}

function headerAt(bytes: Buffer, at: number): Header | undefined {
  if (at + entryHeaderBytes > bytes.length || bytes.readUInt32LE(at + offsets.magic) !== magic)
    return undefined;
  const sum = bytes.readUInt32LE(at + offsets.headerSum);
  if (sum !== checksumOf(bytes, at + offsets.sum, at + entryHeaderBytes)) return undefined;
  return {
    epoch: bytes.readDoubleLE(at + offsets.epoch),
    number: bytes.readDoubleLE(at + offsets.number),
    length: bytes.readUInt32LE(at + offsets.length),
  };
}

function isWhole(bytes: Buffer, at: number, { length }: Header): boolean {
  const start = at + entryHeaderBytes;
  if (start + length > bytes.length) return false;
  return bytes.readUInt32LE(at + offsets.sum) === checksumOf(bytes, start, start + length);
}

function follows(header: Header, last: BatchMark): boolean {
  return header.epoch === last.epoch && header.number === last.number + 1;
}

/** The first complete entry from there on that was written after `last`. */
function laterThan(bytes: Buffer, from: number, last: BatchMark): (Header & { at: number }) | undefined {
  for (let at = from; at + entryHeaderBytes <= bytes.length; at += entryUnit) {
    const header = headerAt(bytes, at);
    if (header === undefined || !isWhole(bytes, at, header)) continue;
    const isOfIt = last.epoch === 0 || header.epoch === last.epoch;
    if (isOfIt && header.number > last.number) return { ...header, at };
  }
  return undefined;
}
