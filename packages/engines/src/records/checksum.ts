// The CRC32 in front of every stored record. LMDB's pages carry none: without it a flipped bit is served as data.

import { crc32 } from "node:zlib";

/** Below this many bytes a loop is faster than the way into zlib and back: measured, 100 bytes. */
const loopBytesMax = 100;

const table = new Int32Array(256);
for (let index = 0; index < 256; index++) {
  let value = index;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  table[index] = value;
}

/** Of the bytes from `start` up to `end`. */
export function checksumOf(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > loopBytesMax) return crc32(bytes.subarray(start, end));
  let value = -1;
  for (let at = start; at < end; at++) {
    value = (table[(value ^ (bytes[at] as number)) & 0xff] as number) ^ (value >>> 8);
  }
  return (value ^ -1) >>> 0;
}
