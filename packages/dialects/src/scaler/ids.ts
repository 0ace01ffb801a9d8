// Names that both ends have to agree on, and how our own ends make up the ids of objects. To the scheduler they are opaque.

import { hash } from "node:crypto";

function md5(bytes: Buffer | string): Buffer {
  return hash("md5", bytes, "buffer");
}

/** [scaler 1.7] As the program does: 8 bytes of its client's digest, and 16 that tell it from the client's others. */
function ownedId(source: Buffer, rest: Buffer): Buffer {
  return Buffer.concat([md5(source).subarray(0, 8), rest]);
}

/** [scaler 1.7] Where a client of form r puts its serializer. */
export function serializerObjectId(source: Buffer): Buffer {
  return contentId(source, "serializer");
}

/** Where a reader of the document looks for it. */
export function documentSerializerId(source: Buffer): Buffer {
  return md5(Buffer.concat([source, Buffer.from("serializer")]));
}

/** The same argument of the same client is the same object. */
export function contentId(source: Buffer, bytes: Buffer | string): Buffer {
  return ownedId(source, md5(bytes));
}

/** A result's, from 16 bytes that come from outside. */
export function resultId(source: Buffer, unique: Buffer): Buffer {
  return ownedId(source, unique);
}
