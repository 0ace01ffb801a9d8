// Writes fields into a growing buffer. One writer serves many records; the caller keeps the offsets
// of each. Numbers up to 239 take one byte, and every string is kept exactly, well-formed or not.

import {
  commonMediaTypeMark,
  commonMediaTypes,
  headerBytes,
  type RecordKind,
  recordVersion,
} from "./record-form.js";

/** A first byte below this is the number itself. */
export const smallNumberEnd = 0xf0;
export const numberMarks = { uint16: 0xf0, uint32: 0xf1, uint48: 0xf2, float64: 0xf3 } as const;

/** Up to this size a loop is faster than a call into native code. */
const loopBytesMax = 48;

const doubles = new Float64Array(1);
const doubleBytes = new Uint8Array(doubles.buffer);

export interface RecordWriterOptions {
  /** Initial size in bytes. */
  readonly size?: number;
  readonly bodyBytesMax?: number;
}

export class RecordWriter {
  bytes: Buffer<ArrayBuffer>;
  /** Offset of the next field. */
  at = 0;
  /** Larger bodies are written without their bytes, which are stored out of line. */
  readonly bodyBytesMax: number;

  constructor(options: RecordWriterOptions = {}) {
    const { size = 4096, bodyBytesMax = Number.POSITIVE_INFINITY } = options;
    this.bytes = Buffer.allocUnsafeSlow(size);
    this.bodyBytesMax = bodyBytesMax;
  }

  /** Begins a record and returns its offset. `seal` fills in the CRC later. */
  begin(kind: RecordKind): number {
    const start = this.at;
    this.reserve(headerBytes);
    this.bytes[start + 4] = recordVersion;
    this.bytes[start + 5] = kind;
    this.at = start + headerBytes;
    return start;
  }

  /** Makes room for this many more bytes. */
  reserve(count: number): void {
    if (this.at + count <= this.bytes.length) return;
    let size = this.bytes.length * 2;
    while (size < this.at + count) size *= 2;
    const grown = Buffer.allocUnsafeSlow(size);
    this.bytes.copy(grown, 0, 0, this.at);
    this.bytes = grown;
  }

  /** Frees reserved room that was not used. */
  shrink(): void {
    const exact = Buffer.allocUnsafeSlow(this.at);
    this.bytes.copy(exact, 0, 0, this.at);
    this.bytes = exact;
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.at++] = value;
  }

  /** Any number; whole ones from 0 to 2⁴⁸ are short. */
  number(value: number): void {
    this.reserve(9);
    const { bytes } = this;
    let at = this.at;
    if (value >= 0 && value <= 0xffff_ffff && value === value >>> 0 && !Object.is(value, -0)) {
      if (value < smallNumberEnd) {
        bytes[at++] = value;
      } else if (value <= 0xffff) {
        bytes[at] = numberMarks.uint16;
        bytes[at + 1] = value;
        bytes[at + 2] = value >>> 8;
        at += 3;
      } else {
        bytes[at] = numberMarks.uint32;
        putUint32(bytes, at + 1, value);
        at += 5;
      }
    } else if (value > 0 && value < 2 ** 48 && Number.isInteger(value)) {
      const high = Math.floor(value / 2 ** 32);
      bytes[at] = numberMarks.uint48;
      putUint32(bytes, at + 1, value >>> 0);
      bytes[at + 5] = high;
      bytes[at + 6] = high >>> 8;
      at += 7;
    } else {
      bytes[at] = numberMarks.float64;
      doubles[0] = value;
      for (let index = 0; index < 8; index++) bytes[at + 1 + index] = doubleBytes[index] as number;
      at += 9;
    }
    this.at = at;
  }

  /** One byte per character if possible, otherwise two, so that a lone surrogate is kept. */
  string(value: string): void {
    const { length } = value;
    const mark = this.at;
    this.number(length * 2);
    this.reserve(length);
    const start = this.at;
    if (length <= loopBytesMax) {
      const { bytes } = this;
      let at = start;
      for (let index = 0; index < length; index++) {
        const code = value.charCodeAt(index);
        if (code > 0xff) return this.#wideString(value, mark);
        bytes[at++] = code;
      }
      this.at = at;
    } else {
      if (isWide(value)) return this.#wideString(value, mark);
      this.bytes.write(value, start, length, "latin1");
      this.at = start + length;
    }
  }

  /** A task has two, nearly always the same ones, which take one byte. */
  mediaType(value: string): void {
    const usual = commonMediaTypes.indexOf(value);
    if (usual >= 0) this.byte(commonMediaTypeMark + usual);
    else this.string(value);
  }

  #wideString(value: string, mark: number): void {
    this.at = mark;
    this.number(value.length * 2 + 1);
    this.reserve(value.length * 2);
    this.bytes.write(value, this.at, value.length * 2, "utf16le");
    this.at += value.length * 2;
  }

  blob(value: Uint8Array): void {
    this.number(value.length);
    this.raw(value);
  }

  /** Bytes without their length. */
  raw(value: Uint8Array): void {
    const { length } = value;
    this.reserve(length);
    if (length <= loopBytesMax) {
      const { bytes, at } = this;
      for (let index = 0; index < length; index++) bytes[at + index] = value[index] as number;
    } else {
      this.bytes.set(value, this.at);
    }
    this.at += length;
  }

  /**
   * The bytes of a buffer from `start` to `end`. Not with `Buffer.copy`, because LMDB returns
   * buffers whose length is too small.
   */
  copy(source: Buffer, start: number, end: number): void {
    this.reserve(end - start);
    this.bytes.set(source.subarray(start, end), this.at);
    this.at += end - start;
  }
}

function putUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
}

function isWide(value: string): boolean {
  for (let index = 0; index < value.length; index++) if (value.charCodeAt(index) > 0xff) return true;
  return false;
}
