// Messages of several parts as one body: a MessagePack array of bin, so that every other door can carry and read it. Of
// MessagePack only that is read here: whatever else a body of this media type holds is none of ours to build.

import type { Body } from "@yardmaster/core";
import { Packr } from "msgpackr";
import { bodyOf, bytesOf } from "./body.js";

export const partsMediaType = "application/vnd.yardmaster.parts+msgpack";

/** Two bytes can claim to be a part that takes a hundred to hold: a body of more parts is left as it is. */
export const partsMax = 1_000;

const packer = new Packr({ useRecords: false });

/** One part is itself; several, or none, are an array. */
export function bodyOfParts(parts: readonly Buffer[]): Body {
  const [first] = parts;
  return parts.length === 1 && first !== undefined
    ? bodyOf(first)
    : bodyOf(packer.pack(parts), partsMediaType);
}

/** Always an array, also of one part or none: for what has to be told from a part that only looks like it. */
export function arrayOfParts(parts: readonly Buffer[], mediaType: string = partsMediaType): Body {
  return bodyOf(packer.pack(parts), mediaType);
}

/** The parts of an array as `arrayOfParts` wrote it; undefined for any other bytes. */
export function partsOfArray(bytes: Buffer): Buffer[] | undefined {
  // No part is shorter than its two bytes of head.
  return readParts(bytes, bytes.length);
}

/** The parts of a body; a body that is no array of at most `partsMax` bin, whatever it calls itself, is one part. */
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

interface Head {
  readonly length: number;
  /** Where what it announces begins. */
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
