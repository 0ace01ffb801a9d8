// The part of MessagePack that the dialect's contents use: a reader that decodes only what it is
// asked for and cannot be driven into deep recursion, and a writer of maps in the smallest form.

/**
 * Reads one value after another. An unreadable value gives undefined, and the position is then
 * meaningless.
 */
export class PackReader {
  readonly bytes: Buffer;
  at: number;
  /** Range of the text or bytes that `readText` found. */
  start = 0;
  end = 0;
  /** True if that was written as bin. */
  isBin = false;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }

  /** The number of entries of a map. */
  readMapHead(): number | undefined {
    const token = this.bytes[this.at];
    if (token === undefined) return undefined;
    if (token >> 4 === 0x8) {
      this.at += 1;
      return token & 0x0f;
    }
    if (token === 0xde) return this.#readLength(2);
    return token === 0xdf ? this.#readLength(4) : undefined;
  }

  /**
   * Finds a str or bin and sets `start` and `end`. Does not advance over anything else, or over one
   * that is cut off.
   */
  readText(): boolean {
    const token = this.bytes[this.at];
    if (token === undefined) return false;
    const head = this.at;
    const length = this.#textLength(token);
    if (length === undefined || this.at + length > this.bytes.length) {
      this.at = head;
      return false;
    }
    this.start = this.at;
    this.at += length;
    this.end = this.at;
    return true;
  }

  readNil(): boolean {
    if (this.bytes[this.at] !== 0xc0) return false;
    this.at += 1;
    return true;
  }

  /** Reads an integer that JavaScript can hold exactly. Does not advance over anything else. */
  readInteger(): number | undefined {
    const { bytes } = this;
    const token = bytes[this.at];
    if (token === undefined) return undefined;
    if (token < 0x80 || token >= 0xe0) {
      this.at += 1;
      return token < 0x80 ? token : token - 0x100;
    }
    const size = integerSizes[token];
    if (size === undefined || this.at + 1 + size > bytes.length) return undefined;
    const start = this.at + 1;
    const value = size < 8 ? this.#shortInteger(token, start, size) : this.#longInteger(token, start);
    if (!Number.isSafeInteger(value)) return undefined;
    this.at = start + size;
    return value;
  }

  /**
   * Reads milliseconds since 1970: an integer, or a float, which some programs use for "never"
   * (1e17). Values beyond exact integers become the largest one. Does not advance over anything
   * else.
   */
  readTime(): number | undefined {
    const { bytes } = this;
    const token = bytes[this.at];
    const isLong = token === 0xcf || token === 0xd3;
    const size = token === 0xca ? 4 : isLong || token === 0xcb ? 8 : 0;
    if (size === 0) return this.readInteger();
    const start = this.at + 1;
    if (start + size > bytes.length) return undefined;
    const value = isLong
      ? this.#longInteger(token, start)
      : size === 4
        ? bytes.readFloatBE(start)
        : bytes.readDoubleBE(start);
    if (Number.isNaN(value)) return undefined;
    this.at = start + size;
    return Math.min(Math.max(Math.trunc(value), -timeMax), timeMax);
  }

  /**
   * Skips one value of any kind without recursion. The number of outstanding values is counted, and
   * each takes at least one byte, so a header that claims more than there is fails at once.
   */
  skip(): boolean {
    const { length } = this.bytes;
    for (let owed = 1; owed > 0; owed -= 1) {
      const token = this.bytes[this.at];
      if (token === undefined) return false;
      const inner = this.#skipHead(token);
      if (inner === undefined) return false;
      owed += inner;
      if (owed - 1 > length - this.at || this.at > length) return false;
    }
    return true;
  }

  /** Skips a header and its own bytes. Returns how many nested values follow. */
  #skipHead(token: number): number | undefined {
    const count = this.#countOf(token);
    if (count !== undefined) return count;
    const length = this.#textLength(token) ?? this.#plainLength(token);
    if (length === undefined) return undefined;
    this.at += length;
    return 0;
  }

  #countOf(token: number): number | undefined {
    if (token >> 4 === 0x9) {
      this.at += 1;
      return token & 0x0f;
    }
    if (token === 0xdc) return this.#readLength(2);
    if (token === 0xdd) return this.#readLength(4);
    const entries = this.readMapHead();
    return entries === undefined ? undefined : entries * 2;
  }

  /** Skips the header of a str or bin and returns its length. */
  #textLength(token: number): number | undefined {
    this.isBin = token >= 0xc4 && token <= 0xc6;
    if (token >> 5 === 0x5) {
      this.at += 1;
      return token & 0x1f;
    }
    if (token === 0xd9 || token === 0xc4) return this.#readLength(1);
    if (token === 0xda || token === 0xc5) return this.#readLength(2);
    return token === 0xdb || token === 0xc6 ? this.#readLength(4) : undefined;
  }

  /** The length, with its header, of a value that is neither text nor a container. */
  #plainLength(token: number): number | undefined {
    if (token < 0x80 || token >= 0xe0 || token === 0xc0 || token === 0xc2 || token === 0xc3) return 1;
    const size = integerSizes[token] ?? fixedSizes[token];
    if (size !== undefined) return 1 + size;
    const ext =
      token >= 0xc7 && token <= 0xc9 ? this.#readLength((1 << (token - 0xc7)) as 1 | 2 | 4) : undefined;
    return ext === undefined ? undefined : ext + 1;
  }

  #shortInteger(token: number, start: number, size: number): number {
    return token < 0xd0 ? this.bytes.readUIntBE(start, size) : this.bytes.readIntBE(start, size);
  }

  #longInteger(token: number, start: number): number {
    const high = token === 0xcf ? this.bytes.readUInt32BE(start) : this.bytes.readInt32BE(start);
    return high * 2 ** 32 + this.bytes.readUInt32BE(start + 4);
  }

  #readLength(size: 1 | 2 | 4): number | undefined {
    const start = this.at + 1;
    if (start + size > this.bytes.length) return undefined;
    this.at = start + size;
    return this.bytes.readUIntBE(start, size);
  }
}

/** The last exact millisecond, in the year 287,396. */
const timeMax = Number.MAX_SAFE_INTEGER;

/** True if `wanted` is at this offset. */
export function isAt(bytes: Buffer, start: number, wanted: Buffer): boolean {
  for (let at = 0; at < wanted.length; at += 1) if (bytes[start + at] !== wanted[at]) return false;
  return true;
}

/** Number of bytes after the header. */
const integerSizes: Readonly<Record<number, number>> = {
  204: 1,
  205: 2,
  206: 4,
  207: 8,
  208: 1,
  209: 2,
  210: 4,
  211: 8,
};
/** Floats, and fixed-length ext values with their type. */
const fixedSizes: Readonly<Record<number, number>> = {
  202: 4,
  203: 8,
  212: 2,
  213: 3,
  214: 5,
  215: 9,
  216: 17,
};

/** A str in its smallest form. */
export function packText(text: string): Buffer {
  const bytes = Buffer.from(text);
  const { length } = bytes;
  if (length < 32) return Buffer.concat([Buffer.of(0xa0 | length), bytes]);
  return Buffer.concat([headOf(length, 0xd9, 0xda, 0xdb), bytes]);
}

/** The header of a bin of `length` bytes. */
export function binHead(length: number): Buffer {
  return headOf(length, 0xc4, 0xc5, 0xc6);
}

export function packBin(bytes: Buffer): Buffer {
  return Buffer.concat([binHead(bytes.length), bytes]);
}

/** A non-negative integer in its smallest form. */
export function packNumber(value: number): Buffer {
  if (value < 128) return Buffer.of(value);
  if (value < 2 ** 32) return headOf(value, 0xcc, 0xcd, 0xce);
  const bytes = Buffer.allocUnsafe(9);
  bytes[0] = 0xcf;
  bytes.writeUInt32BE(Math.floor(value / 2 ** 32), 1);
  bytes.writeUInt32BE(value % 2 ** 32, 5);
  return bytes;
}

function headOf(value: number, one: number, two: number, four: number): Buffer {
  if (value < 2 ** 8) return Buffer.of(one, value);
  if (value < 2 ** 16) return Buffer.of(two, value >> 8, value & 0xff);
  const bytes = Buffer.allocUnsafe(5);
  bytes[0] = four;
  bytes.writeUInt32BE(value, 1);
  return bytes;
}
