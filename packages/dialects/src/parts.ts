// Messages of several parts as one body: a MessagePack array of bin, so that every other door can carry and read it.

import type { Body } from "@yardmaster/core";
import { Packr, Unpackr } from "msgpackr";
import { bodyOf, bytesOf } from "./body.js";

export const partsMediaType = "application/vnd.yardmaster.parts+msgpack";

const packer = new Packr({ useRecords: false });
const unpacker = new Unpackr({ useRecords: false });

/** One part is itself; several, or none, are an array. */
export function bodyOfParts(parts: readonly Buffer[]): Body {
  const [first] = parts;
  return parts.length === 1 && first !== undefined
    ? bodyOf(first)
    : bodyOf(packer.pack(parts), partsMediaType);
}

/** The parts of a body; a body that is no array of bin, whatever it calls itself, is one part. */
export function partsOf(body: Body | undefined): Buffer[] {
  const bytes = bytesOf(body);
  return (body?.mediaType === partsMediaType ? unpackParts(bytes) : undefined) ?? [bytes];
}

function unpackParts(bytes: Buffer): Buffer[] | undefined {
  try {
    const parts: unknown = unpacker.unpack(bytes);
    return Array.isArray(parts) && parts.every((part) => Buffer.isBuffer(part)) ? parts : undefined;
  } catch {
    // Somebody else's bytes under our media type: they are still a payload, only not of parts.
    return undefined;
  }
}
