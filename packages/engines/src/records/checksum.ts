// The CRC32 in front of every stored record. LMDB's pages have none, so without it a flipped bit
// would be served as data.

import { crc32 } from "node:zlib";

/** Below this many bytes a loop is faster than a call into zlib (measured). */
const loopBytesMax = 100;

const table = new Int32Array(256);
for (let index = 0; index < 256; index++) {
  let value = index;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  table[index] = value;
}

/** The checksum of the bytes from `start` to `end`. */
export function checksumOf(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > loopBytesMax) return crc32(bytes.subarray(start, end));
  let value = -1;
  for (let at = start; at < end; at++) {
    value = (table[(value ^ (bytes[at] as number)) & 0xff] as number) ^ (value >>> 8);
  }
  return (value ^ -1) >>> 0;
}
