// Reads what a RecordWriter wrote, field by field. Recurring names (queues, doors, workers, media
// types) are returned as the same string each time, so that a million loaded tasks share them.
//
// Reading past the end throws BadRecord. A record with a correct CRC and wrong fields was written
// by a bug of ours, and must not be served either.

import { BadRecord, commonMediaTypeMark, commonMediaTypes, headerBytes } from "./record-form.js";
import { numberMarks, smallNumberEnd } from "./record-writer.js";

const doubles = new Float64Array(1);
const doubleBytes = new Uint8Array(doubles.buffer);

/** Longer strings are rarely names. */
const nameBytesMax = 48;
/** A power of two; names with the same slot replace each other. */
const namesMax = 4096;
const names: (string | undefined)[] = new Array(namesMax).fill(undefined);

export class RecordReader {
  bytes: Buffer = Buffer.alloc(0);
  at = 0;
  end = 0;
  /** Where copies of byte fields go. Without it, byte fields are views of the input. */
  readonly #copies: Slab | undefined;

  constructor(options: { readonly copies?: boolean } = {}) {
    this.#copies = options.copies === true ? new Slab() : undefined;
  }

  /** Begins a record that lies from `start` to `end`. The caller checks its header. */
  begin(bytes: Buffer, start: number, end: number): void {
    this.bytes = bytes;
    this.at = start + headerBytes;
    this.end = end;
  }

  /** All fields were read, so this must be the end. */
  finish(): void {
    if (this.at !== this.end) throw new BadRecord(`its fields end at ${this.at}, its bytes at ${this.end}`);
  }

  byte(): number {
    if (this.at >= this.end) throw pastTheEnd();
    return this.bytes[this.at++] as number;
  }

  number(): number {
    const first = this.byte();
    if (first < smallNumberEnd) return first;
    const { bytes, at } = this;
    switch (first) {
      case numberMarks.uint16:
        this.#skip(2);
        return (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
      case numberMarks.uint32:
        this.#skip(4);
        return uint32At(bytes, at);
      case numberMarks.uint48:
        this.#skip(6);
        return uint32At(bytes, at) + ((bytes[at + 4] as number) | ((bytes[at + 5] as number) << 8)) * 2 ** 32;
      case numberMarks.float64:
        this.#skip(8);
        for (let index = 0; index < 8; index++) doubleBytes[index] = bytes[at + index] as number;
        return doubles[0] as number;
      default:
        throw new BadRecord(`a number begins with ${first}`);
    }
  }

  string(): string {
    const form = this.number();
    const start = this.at;
    if (form % 2 === 1) {
      this.#skip(form - 1);
      return this.bytes.toString("utf16le", start, this.at);
    }
    this.#skip(form / 2);
    return this.bytes.toString("latin1", start, this.at);
  }

  /** A string that many records share. */
  name(): string {
    const mark = this.at;
    const form = this.number();
    const length = form / 2;
    if (form % 2 === 1 || length > nameBytesMax) {
      this.at = mark;
      return this.string();
    }
    const start = this.at;
    this.#skip(length);
    return nameOf(this.bytes, start, length);
  }

  mediaType(): string {
    const usual = commonMediaTypes[(this.bytes[this.at] ?? 0) - commonMediaTypeMark];
    if (usual === undefined || this.at >= this.end) return this.name();
    this.at += 1;
    return usual;
  }

  skipString(): void {
    const form = this.number();
    this.#skip(form % 2 === 1 ? form - 1 : form / 2);
  }

  /** Skips this many bytes and returns their number. */
  skip(count: number): number {
    this.#skip(count);
    return count;
  }

  blob(): Uint8Array {
    return this.raw(this.number());
  }

  raw(length: number): Uint8Array {
    const start = this.at;
    this.#skip(length);
    return this.#copies === undefined
      ? this.bytes.subarray(start, this.at)
      : this.#copies.copy(this.bytes, start, this.at);
  }

  #skip(count: number): void {
    if (!(count >= 0 && this.at + count <= this.end)) throw pastTheEnd();
    this.at += count;
  }
}

/**
 * Copies of many small byte fields in a few large buffers: a buffer for each would cost more than
 * its bytes.
 */
class Slab {
  #bytes = Buffer.alloc(0);
  #at = 0;

  copy(source: Buffer, start: number, end: number): Uint8Array {
    const length = end - start;
    if (length > slabBytes / 4) return Uint8Array.prototype.slice.call(source, start, end);
    if (this.#at + length > this.#bytes.length) {
      this.#bytes = Buffer.allocUnsafeSlow(slabBytes);
      this.#at = 0;
    }
    const at = this.#at;
    this.#bytes.set(source.subarray(start, end), at);
    this.#at += length;
    return this.#bytes.subarray(at, this.#at);
  }
}

/**
 * A slab lives as long as any field in it, so it is small enough that a few survivors do not hold
 * much.
 */
const slabBytes = 65_536;

function nameOf(bytes: Buffer, start: number, length: number): string {
  let hash = length;
  for (let index = 0; index < length; index++)
    hash = (Math.imul(hash, 31) + (bytes[start + index] as number)) | 0;
  const place = (hash ^ (hash >>> 15)) & (namesMax - 1);
  const known = names[place];
  if (known !== undefined && isWrittenAs(known, bytes, start, length)) return known;
  const name = bytes.toString("latin1", start, start + length);
  names[place] = name;
  return name;
}

function isWrittenAs(name: string, bytes: Buffer, start: number, length: number): boolean {
  if (name.length !== length) return false;
  for (let index = 0; index < length; index++) {
    if (name.charCodeAt(index) !== bytes[start + index]) return false;
  }
  return true;
}

function uint32At(bytes: Buffer, at: number): number {
  return (
    ((bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)) >>>
    0
  );
}

function pastTheEnd(): BadRecord {
  return new BadRecord("its fields go beyond its bytes");
}
