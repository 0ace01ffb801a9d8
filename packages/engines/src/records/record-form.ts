// How every record begins: four bytes of CRC over all that follows, one of the schema's version, one of the record's
// kind. The kind is there so that a record in the wrong place is seen to be; the version, so that an older form can be
// told from a newer one and read as what it is.

import { checksumOf } from "./checksum.js";

/**
 * Grows when a record's bytes change their meaning. A reader of this version must still read the ones before.
 * 2: the media types below are one byte.
 */
export const recordVersion = 2;

/** By their number in a record: only ever add at the end. There is room for twelve. */
export const usualMediaTypes: readonly string[] = [
  "application/octet-stream",
  "application/json",
  "text/plain",
  "text/plain; charset=utf-8",
  "application/vnd.yardmaster.parts+msgpack",
];
/** The first of the bytes that begin no number, and so no string. */
export const usualMediaTypeMark = 0xf4;

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
  /** Bytes that are not fields: a piece of a body, or what an engine keeps for itself. */
  bytes: 12,
} as const;

export type RecordKind = (typeof recordKinds)[keyof typeof recordKinds];

/** A record's bytes are not what was written. */
export class BadRecord extends Error {
  override readonly name = "BadRecord";
}

/** Puts the CRC in front of a record that lies from `start` up to `end`. */
export function seal(bytes: Uint8Array, start: number, end: number): void {
  const sum = checksumOf(bytes, start + 4, end);
  bytes[start] = sum;
  bytes[start + 1] = sum >>> 8;
  bytes[start + 2] = sum >>> 16;
  bytes[start + 3] = sum >>> 24;
}

/** What is wrong with the bytes of a record of this kind; undefined if nothing is. */
export function faultOf(
  bytes: Uint8Array,
  start: number,
  end: number,
  kind?: RecordKind,
): string | undefined {
  if (end - start < headerBytes) return `${end - start} bytes are too few for a record`;
  const sum =
    (((bytes[start] as number) |
      ((bytes[start + 1] as number) << 8) |
      ((bytes[start + 2] as number) << 16) |
      ((bytes[start + 3] as number) << 24)) >>>
      0) -
    checksumOf(bytes, start + 4, end);
  if (sum !== 0) return "its CRC does not match its bytes";
  const version = bytes[start + 4] as number;
  if (version === 0 || version > recordVersion) {
    return `it has schema version ${version}, and this program reads up to ${recordVersion}`;
  }
  if (kind !== undefined && bytes[start + 5] !== kind) {
    return `it is of kind ${bytes[start + 5]}, and kind ${kind} belongs here`;
  }
  return undefined;
}
