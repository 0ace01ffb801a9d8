// Ids that both ends must agree on, and how our own client and worker make object ids. The
// scheduler treats all ids as opaque.

import { hash } from "node:crypto";

function md5(bytes: Buffer | string): Buffer {
  return hash("md5", bytes, "buffer");
}

/**
 * [scaler 1.7] Like the original program: 8 bytes of the client's digest, then 16 bytes that are
 * unique within the client.
 */
function ownedId(source: Buffer, rest: Buffer): Buffer {
  return Buffer.concat([md5(source).subarray(0, 8), rest]);
}

/** [scaler 1.7] The id under which a form-r client stores its serializer. */
export function serializerObjectId(source: Buffer): Buffer {
  return contentId(source, "serializer");
}

/** The id under which a worker written from the document looks for it. */
export function documentSerializerId(source: Buffer): Buffer {
  return md5(Buffer.concat([source, Buffer.from("serializer")]));
}

/** Equal arguments of one client get the same id, so they are one object. */
export function contentId(source: Buffer, bytes: Buffer | string): Buffer {
  return ownedId(source, md5(bytes));
}

/** Id of a result, from 16 unique bytes of the caller. */
export function resultId(source: Buffer, unique: Buffer): Buffer {
  return ownedId(source, unique);
}
