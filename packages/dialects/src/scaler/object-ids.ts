// How the ends make up the ids of objects. To the scheduler they are opaque; an id that begins with its client's digest and ends
// with its content's makes the same argument the same object.

import { createHash } from "node:crypto";

/** An id as a key of a map. */
export function keyOf(id: Buffer): string {
  return id.toString("latin1");
}

function md5(bytes: Buffer): Buffer {
  return createHash("md5").update(bytes).digest();
}

const ownerBytes = 8;

/** [scaler 5.5] As the program does: 8 bytes of its client, 16 of its content. */
export function contentId(source: Buffer, bytes: Buffer): Buffer {
  return Buffer.concat([md5(source).subarray(0, ownerBytes), md5(bytes)]);
}

/** A result's, from 16 bytes that come from outside. */
export function resultId(source: Buffer, unique: Buffer): Buffer {
  return Buffer.concat([md5(source).subarray(0, ownerBytes), unique]);
}

/** [scaler 5.6] Where a client's serializer is: to the program, and to a reader of the document. */
export function serializerIds(source: Buffer): [program: Buffer, document: Buffer] {
  const word = Buffer.from("serializer");
  return [contentId(source, word), md5(Buffer.concat([source, word]))];
}
