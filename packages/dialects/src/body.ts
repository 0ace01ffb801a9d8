// Makes bodies from bytes read off the wire.

import type { Body } from "@yardmaster/core";

/** The media type of payloads and results in dialects that have none. */
export const bytesMediaType = "application/octet-stream";

export const jsonMediaType = "application/json";

/** True for JSON, with or without parameters, and for +json types. */
export function isJson(mediaType: string): boolean {
  return mediaType === jsonMediaType || /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(mediaType);
}

/**
 * Copies the bytes into a body of its own. A slice would keep the whole read buffer alive while the
 * task waits.
 */
export function bodyOf(bytes: Buffer, mediaType: string = bytesMediaType): Body {
  return { mediaType, size: bytes.length, bytes: ownBytes(bytes) };
}

/** Returns these bytes unshared. A slice that is at least half of its buffer is kept as it is. */
export function ownBytes(bytes: Buffer): Buffer {
  return bytes.length * 2 >= bytes.buffer.byteLength ? bytes : copyOf(bytes);
}

/**
 * Does what `Buffer.from` does without inspecting its argument, because this runs twice for every
 * task.
 */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafe(bytes.length);
  copy.set(bytes);
  return copy;
}

/** The bytes of a body, which must be loaded. */
export function bytesOf(body: Body | undefined): Buffer {
  const bytes = body?.bytes;
  if (bytes === undefined) return emptyBytes;
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

const emptyBytes = Buffer.alloc(0);
