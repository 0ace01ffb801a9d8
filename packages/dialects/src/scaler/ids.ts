// Names that both ends have to agree on.

import { createHash } from "node:crypto";

/** [scaler 1.7] Where a client of form r puts its serializer: 8 bytes of its own name's digest, 16 of the word's. */
export function serializerObjectId(source: Buffer): Buffer {
  const ofSource = createHash("md5").update(source).digest().subarray(0, 8);
  return Buffer.concat([ofSource, createHash("md5").update("serializer").digest()]);
}
