// Sets of tasks of one block, one bit per task. A query that combines queue, state, door, worker
// and error takes a few hundred AND operations per block, however many tasks match only one of
// them.

/** Ten million tasks are 610 blocks, few enough to look at each one. A full set takes 2 KB. */
export const blockSize = 16_384;

const words = blockSize / 32;

export type Bits = Uint32Array;

export function noBits(): Bits {
  return new Uint32Array(words);
}

export function hasBit(bits: Bits, offset: number): boolean {
  return ((bits[offset >>> 5] as number) & (1 << (offset & 31))) !== 0;
}

export function setBit(bits: Bits, offset: number): void {
  bits[offset >>> 5] = (bits[offset >>> 5] as number) | (1 << (offset & 31));
}

export function clearBit(bits: Bits, offset: number): void {
  bits[offset >>> 5] = (bits[offset >>> 5] as number) & ~(1 << (offset & 31));
}

export function andBits(bits: Bits, other: Bits): void {
  for (let word = 0; word < words; word++) bits[word] = (bits[word] as number) & (other[word] as number);
}

export function orBits(bits: Bits, other: Bits): void {
  for (let word = 0; word < words; word++) bits[word] = (bits[word] as number) | (other[word] as number);
}

export function isEmpty(bits: Bits): boolean {
  for (let word = 0; word < words; word++) if (bits[word] !== 0) return false;
  return true;
}

export function countBits(bits: Bits): number {
  let count = 0;
  for (let word = 0; word < words; word++) {
    for (let left = bits[word] as number; left !== 0; left &= left - 1) count++;
  }
  return count;
}

/** The greatest offset below `below` that is set; -1 if there is none. */
export function lastBitBelow(bits: Bits, below: number): number {
  let word = (below - 1) >>> 5;
  if (below <= 0) return -1;
  let left = (bits[word] as number) & (below & 31 ? (1 << (below & 31)) - 1 : -1);
  while (left === 0) {
    word -= 1;
    if (word < 0) return -1;
    left = bits[word] as number;
  }
  return word * 32 + 31 - Math.clz32(left);
}

/** The least offset from `from` on that is set; -1 if there is none. */
export function firstBitFrom(bits: Bits, from: number): number {
  if (from >= blockSize) return -1;
  let word = from >>> 5;
  let left = (bits[word] as number) & (-1 << (from & 31));
  while (left === 0) {
    word += 1;
    if (word >= words) return -1;
    left = bits[word] as number;
  }
  return word * 32 + 31 - Math.clz32(left & -left);
}

/** Up to this size, a list of offsets of two bytes each is shorter than the bits. */
const listBytesMax = words * 4 - 2;

/** The set as bytes: a list of offsets of two bytes each if they are few, otherwise all bits. */
export function bytesOfBits(bits: Bits): Uint8Array {
  const count = countBits(bits);
  if (count * 2 > listBytesMax) return new Uint8Array(bits.buffer, bits.byteOffset, bits.byteLength);
  const list = new Uint16Array(count);
  let offset = -1;
  for (let index = 0; index < count; index++) {
    offset = firstBitFrom(bits, offset + 1);
    list[index] = offset;
  }
  return new Uint8Array(list.buffer);
}

/**
 * The bytes of a set with more offsets. They are appended to the list in any order, until the bits
 * are shorter.
 */
export function bytesWith(before: Uint8Array, offsets: readonly number[]): Uint8Array {
  if (before.length + offsets.length * 2 > listBytesMax) {
    const bits = noBits();
    addBytes(bits, before);
    for (const offset of offsets) setBit(bits, offset);
    return bytesOfBits(bits);
  }
  const list = new Uint8Array(before.length + offsets.length * 2);
  list.set(before);
  let at = before.length;
  for (const offset of offsets) {
    list[at++] = offset;
    list[at++] = offset >>> 8;
  }
  return list;
}

const aligned = noBits();

/** Adds the set that these bytes represent. */
export function addBytes(bits: Bits, bytes: Uint8Array): void {
  if (bytes.length > listBytesMax) {
    // The bytes may be unaligned, and a view of 32-bit words must be aligned.
    new Uint8Array(aligned.buffer).set(bytes);
    orBits(bits, aligned);
    return;
  }
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    setBit(bits, ((bytes[at] as number) | ((bytes[at + 1] as number) << 8)) & (blockSize - 1));
  }
}
