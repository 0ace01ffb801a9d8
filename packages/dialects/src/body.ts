// Bodies made of what was read from a wire.

import type { Body } from "@yardmaster/core";

/** What a task's payload or result is when its dialect does not say. */
export const bytesMediaType = "application/octet-stream";

export const jsonMediaType = "application/json";

/** JSON, with or without parameters, and the suffixed kinds. */
export function isJson(mediaType: string): boolean {
  return mediaType === jsonMediaType || /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(mediaType);
}

/** A body of these bytes, in memory of their own: a slice would keep the whole read buffer for as long as it waits. */
export function bodyOf(bytes: Buffer, mediaType: string = bytesMediaType): Body {
  return { mediaType, size: bytes.length, bytes: ownBytes(bytes) };
}

/** The same of a stretch of them, which is nothing by itself yet. */
export function bodyOfStretch(bytes: Buffer, from: number, to: number): Body {
  const size = to - from;
  const own = Buffer.allocUnsafe(size);
  if (size > loopBytesMax) bytes.copy(own, 0, from, to);
  else for (let i = 0; i < size; i++) own[i] = bytes[from + i] as number;
  return { mediaType: bytesMediaType, size, bytes: own };
}

/** Up to here a loop is faster than a copy, which makes an object of the stretch first. */
const loopBytesMax = 128;

/** These bytes in memory that is theirs, or half of it: a read that brought little else need not be copied out of. */
export function ownBytes(bytes: Buffer): Buffer {
  return bytes.length * 2 >= bytes.buffer.byteLength ? bytes : copyOf(bytes);
}

/** As `Buffer.from` would, without its looking into what it was given: this is done twice for every task. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafe(bytes.length);
  copy.set(bytes);
  return copy;
}

/** A body's bytes, which whoever hands it out has loaded. */
export function bytesOf(body: Body | undefined): Buffer {
  const bytes = body?.bytes;
  if (bytes === undefined) return emptyBytes;
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

const emptyBytes = Buffer.alloc(0);
