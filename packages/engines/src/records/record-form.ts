// The header of every record: four bytes of CRC over everything that follows, one byte for the
// schema's version, one for the record's kind. The kind reveals a record in the wrong place. The
// version distinguishes older forms from newer ones.

import { checksumOf } from "./checksum.js";

/**
 * Increases when a record's bytes change their meaning. Older versions must still be readable. 2:
 * the media types below are one byte. 3: a head may end with the task's relations. 4: a progress
 * may end with an error's detail and a worker's report. 5: relations may name a principal. 6: a
 * body may have an envelope.
 */
export const recordVersion = 6;

/** By their number in a record: only add at the end. There is room for twelve. */
export const commonMediaTypes: readonly string[] = [
  "application/octet-stream",
  "application/json",
  "text/plain",
  "text/plain; charset=utf-8",
  "application/vnd.yardmaster.parts+msgpack",
];
/** The first byte value that begins neither a number nor a string. */
export const commonMediaTypeMark = 0xf4;

export const headerBytes = 6;

export const recordKinds = {
  head: 1,
  progress: 2,
  key: 3,
  queue: 4,
  door: 5,
  memo: 6,
  segment: 7,
  keyGone: 8,
  queueGone: 9,
  memoGone: 10,
  historyTrimmed: 11,
  /** Bytes without fields: a piece of a body, or an engine's own data. */
  bytes: 12,
} as const;

export type RecordKind = (typeof recordKinds)[keyof typeof recordKinds];

/** A record's bytes are not those that were written. */
export class BadRecord extends Error {
  override readonly name = "BadRecord";
}

/** Writes the CRC in front of a record that lies from `start` to `end`. */
export function seal(bytes: Uint8Array, start: number, end: number): void {
  const sum = checksumOf(bytes, start + 4, end);
  bytes[start] = sum;
  bytes[start + 1] = sum >>> 8;
  bytes[start + 2] = sum >>> 16;
  bytes[start + 3] = sum >>> 24;
}

/** The fault in the bytes of a record of this kind; undefined if there is none. */
export function faultOf(
  bytes: Uint8Array,
  start: number,
  end: number,
  kind?: RecordKind,
): string | undefined {
  if (end - start < headerBytes) return `${end - start} bytes are too few for a record`;
  if (!isSealed(bytes, start, end)) return "its CRC does not match its bytes";
  const version = bytes[start + 4] as number;
  if (version === 0 || version > recordVersion) {
    return `it has schema version ${version}, and this program reads up to ${recordVersion}`;
  }
  if (kind !== undefined && bytes[start + 5] !== kind) {
    return `it is of kind ${bytes[start + 5]}, and kind ${kind} belongs here`;
  }
  return undefined;
}

/** The version of an intact record that a newer program wrote; undefined for any other bytes. */
export function newerVersionOf(bytes: Uint8Array, start: number, end: number): number | undefined {
  if (end - start < headerBytes || !isSealed(bytes, start, end)) return undefined;
  const version = bytes[start + 4] as number;
  return version > recordVersion ? version : undefined;
}

function isSealed(bytes: Uint8Array, start: number, end: number): boolean {
  const sum =
    ((bytes[start] as number) |
      ((bytes[start + 1] as number) << 8) |
      ((bytes[start + 2] as number) << 16) |
      ((bytes[start + 3] as number) << 24)) >>>
    0;
  return sum === checksumOf(bytes, start + 4, end);
}
