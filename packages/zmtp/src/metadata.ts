// Encodes and decodes the properties that peers exchange at the end of the handshake [37/ZMTP,
// connection metadata].

import { keptCopy } from "./kept-copy.js";

/** Names are in lower case, because they are case-insensitive. */
export type Metadata = ReadonlyMap<string, Buffer>;

// Otherwise a peer could make us build a map of thousands of entries from one READY.
const propertiesMax = 64;

export function encodeMetadata(properties: ReadonlyArray<readonly [name: string, value: Buffer]>): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of properties) {
    const head = Buffer.alloc(1 + name.length + 4);
    head[0] = name.length;
    head.write(name, 1, "latin1");
    head.writeUInt32BE(value.length, 1 + name.length);
    parts.push(head, value);
  }
  return Buffer.concat(parts);
}

/**
 * Decodes properties; undefined if the bytes are invalid. Values are copies, because they outlive
 * the read buffer.
 */
export function decodeMetadata(bytes: Buffer): Metadata | undefined {
  const properties = new Map<string, Buffer>();
  let at = 0;
  while (at < bytes.length) {
    const nameLength = bytes[at] as number;
    const valueAt = at + 1 + nameLength + 4;
    if (nameLength === 0 || valueAt > bytes.length || properties.size >= propertiesMax) return undefined;
    const name = bytes.toString("latin1", at + 1, at + 1 + nameLength).toLowerCase();
    const end = valueAt + bytes.readUInt32BE(valueAt - 4);
    if (end > bytes.length) return undefined;
    properties.set(name, keptCopy(bytes.subarray(valueAt, end)));
    at = end;
  }
  return properties;
}
