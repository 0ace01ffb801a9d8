// MessagePack into values that a tree can show. Bytes become text such as "16 bytes 0a1b…";
// anything malformed throws.

const depthMax = 64;

class Reader {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  value(depth = 0): unknown {
    if (depth > depthMax) throw new Error("nested too deeply");
    const type = this.#uint(1);
    if (type < 0x80) return type;
    if (type < 0x90) return this.#map(type & 15, depth);
    if (type < 0xa0) return this.#list(type & 15, depth);
    if (type < 0xc0) return this.#text(type & 31);
    if (type >= 0xe0) return type - 256;
    return this.#long(type, depth);
  }

  #long(type: number, depth: number): unknown {
    switch (type) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xca:
        return this.#view.getFloat32(this.#skip(4));
      case 0xcb:
        return this.#view.getFloat64(this.#skip(8));
      case 0xcf:
        return Number(this.#view.getBigUint64(this.#skip(8)));
      case 0xd3:
        return Number(this.#view.getBigInt64(this.#skip(8)));
      case 0xd0:
        return this.#view.getInt8(this.#skip(1));
      case 0xd1:
        return this.#view.getInt16(this.#skip(2));
      case 0xd2:
        return this.#view.getInt32(this.#skip(4));
    }
    if (type >= 0xc4 && type <= 0xc6) return this.#binary(this.#uint(1 << (type - 0xc4)));
    if (type >= 0xc7 && type <= 0xc9) return this.#binary(this.#uint(1 << (type - 0xc7)) + 1);
    if (type >= 0xcc && type <= 0xce) return this.#uint(1 << (type - 0xcc));
    if (type >= 0xd4 && type <= 0xd8) return this.#binary((1 << (type - 0xd4)) + 1);
    if (type >= 0xd9 && type <= 0xdb) return this.#text(this.#uint(1 << (type - 0xd9)));
    if (type === 0xdc || type === 0xdd) return this.#list(this.#uint(type === 0xdc ? 2 : 4), depth);
    if (type === 0xde || type === 0xdf) return this.#map(this.#uint(type === 0xde ? 2 : 4), depth);
    throw new Error("not MessagePack");
  }

  #skip(size: number): number {
    const at = this.#at;
    this.#at += size;
    if (this.#at > this.#bytes.length) throw new Error("ends too early");
    return at;
  }

  #uint(size: number): number {
    const at = this.#skip(size);
    return size === 1
      ? this.#view.getUint8(at)
      : size === 2
        ? this.#view.getUint16(at)
        : this.#view.getUint32(at);
  }

  #text(size: number): string {
    const at = this.#skip(size);
    return new TextDecoder().decode(this.#bytes.subarray(at, at + size));
  }

  #binary(size: number): string {
    const at = this.#skip(size);
    const shown = [...this.#bytes.subarray(at, at + Math.min(size, 16))];
    const hex = shown.map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return `${size} bytes ${hex}${size > 16 ? "…" : ""}`;
  }

  #list(size: number, depth: number): unknown[] {
    this.#mayHold(size);
    return Array.from({ length: size }, () => this.value(depth + 1));
  }

  #map(size: number, depth: number): Map<string, unknown> {
    this.#mayHold(size);
    const map = new Map<string, unknown>();
    for (let at = 0; at < size; at += 1) map.set(String(this.value(depth + 1)), this.value(depth + 1));
    return map;
  }

  /** Each value takes at least a byte, so a header that claims more is invalid. */
  #mayHold(size: number): void {
    if (size > this.#bytes.length - this.#at) throw new Error("ends too early");
  }
}

export function readMessagePack(bytes: Uint8Array): unknown {
  const reader = new Reader(bytes);
  const value = reader.value();
  if (!reader.isAtEnd) throw new Error("more than one value");
  return value;
}
