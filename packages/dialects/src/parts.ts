// Messages of several parts as one body: a MessagePack array of bin, which every other door can
// carry and read. Other MessagePack in a body of this media type is not decoded here.

import type { Body } from "@yardmaster/core";
import { bodyOf, bytesMediaType, bytesOf } from "./body.js";
import type { WireFrames } from "./wire-frames.js";

export const partsMediaType = "application/vnd.yardmaster.parts+msgpack";

/**
 * Two bytes can claim a part that takes a hundred bytes of memory, so a body with more parts is
 * left as it is.
 */
export const partsMax = 1_000;

/** One part becomes the body itself; several parts, or none, become an array. */
export function bodyOfParts(parts: readonly Buffer[]): Body {
  const [first] = parts;
  return parts.length === 1 && first !== undefined ? bodyOf(first) : arrayOfParts(parts);
}

/** The same for the frames of a message from `from` on, which are copied. */
export function bodyOfFrames(frames: WireFrames, from: number): Body {
  if (frames.count !== from + 1) return arrayOfParts(frames.slices(from));
  return { mediaType: bytesMediaType, size: frames.lengthOf(from), bytes: frames.keep(from) };
}

/**
 * Always writes an array, even for one part or none, so that it cannot be confused with a single
 * part.
 */
export function arrayOfParts(parts: readonly Buffer[], mediaType: string = partsMediaType): Body {
  const bytes = packed(parts);
  return { mediaType, size: bytes.length, bytes };
}

/** Reads what `arrayOfParts` wrote; undefined for any other bytes. */
export function partsOfArray(bytes: Buffer): Buffer[] | undefined {
  // Every part has at least two bytes.
  return readParts(bytes, bytes.length);
}

/**
 * The parts of a body. A body that is not an array of at most `partsMax` bin, whatever its media
 * type, is one part.
 */
export function partsOf(body: Body | undefined): Buffer[] {
  const bytes = bytesOf(body);
  return (body?.mediaType === partsMediaType ? readParts(bytes, partsMax) : undefined) ?? [bytes];
}

function readParts(bytes: Buffer, max: number): Buffer[] | undefined {
  const array = readArrayHead(bytes);
  if (array === undefined || array.length > max) return undefined;
  const parts: Buffer[] = [];
  let at = array.at;
  while (parts.length < array.length) {
    const bin = readBinHead(bytes, at);
    if (bin === undefined || bin.at + bin.length > bytes.length) return undefined;
    at = bin.at + bin.length;
    parts.push(bytes.subarray(bin.at, at));
  }
  return at === bytes.length ? parts : undefined;
}

/**
 * Written by hand, because some doors do it for every task: four times as fast as a general packer.
 */
function packed(parts: readonly Buffer[]): Buffer {
  let size = headBytes(parts.length, 15);
  for (const { length } of parts) size += headBytes(length, -1) + length;
  const bytes = Buffer.allocUnsafe(size);
  let at = writeArrayHead(bytes, parts.length);
  for (const part of parts) {
    at = writeBinHead(bytes, at, part.length);
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/**
 * `inToken`: the greatest length that fits into the token itself. Arrays have no header with a
 * one-byte length; bin has.
 */
function headBytes(length: number, inToken: number): number {
  if (length <= inToken) return 1;
  if (length <= 0xff && inToken < 0) return 2;
  return length <= 0xffff ? 3 : 5;
}

function writeArrayHead(bytes: Buffer, length: number): number {
  if (length <= 15) return bytes.writeUInt8(0x90 | length, 0);
  bytes[0] = length <= 0xffff ? 0xdc : 0xdd;
  return bytes.writeUIntBE(length, 1, length <= 0xffff ? 2 : 4);
}

function writeBinHead(bytes: Buffer, at: number, length: number): number {
  if (length <= 0xff) {
    bytes[at] = 0xc4;
    bytes[at + 1] = length;
    return at + 2;
  }
  bytes[at] = length <= 0xffff ? 0xc5 : 0xc6;
  return bytes.writeUIntBE(length, at + 1, length <= 0xffff ? 2 : 4);
}

interface Head {
  readonly length: number;
  /** Offset after the header. */
  readonly at: number;
}

function readArrayHead(bytes: Buffer): Head | undefined {
  const token = bytes[0] ?? 0;
  if (token >= 0x90 && token <= 0x9f) return { length: token & 0x0f, at: 1 };
  if (token === 0xdc) return readLength(bytes, 1, 2);
  return token === 0xdd ? readLength(bytes, 1, 4) : undefined;
}

function readBinHead(bytes: Buffer, at: number): Head | undefined {
  const token = bytes[at] ?? 0;
  if (token === 0xc4) return readLength(bytes, at + 1, 1);
  if (token === 0xc5) return readLength(bytes, at + 1, 2);
  return token === 0xc6 ? readLength(bytes, at + 1, 4) : undefined;
}

function readLength(bytes: Buffer, at: number, size: 1 | 2 | 4): Head | undefined {
  return at + size > bytes.length ? undefined : { length: bytes.readUIntBE(at, size), at: at + size };
}
