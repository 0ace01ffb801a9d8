// Finds the fields of a message in its bytes, for the wire view. Runs only while a listener
// watches.

/** A field of a message, by its position in the shown bytes. */
export interface WireField {
  readonly name: string;
  readonly at: number;
  readonly bytes: number;
  /** The value as text, if it is short text. */
  readonly value: string | null;
}

/** More fields than people read. */
const fieldsMax = 64;
const valueBytesMax = 128;

/** A field for each frame of a ZeroMQ message; offsets are into the frames laid end to end. */
export function frameFields(
  frames: readonly Uint8Array[],
  nameOf: (index: number, frame: Uint8Array) => string,
): WireField[] {
  let at = 0;
  return frames.slice(0, fieldsMax).map((frame, index) => {
    const field = { name: nameOf(index, frame), at, bytes: frame.length, value: textIn(frame) };
    at += frame.length;
    return field;
  });
}

/**
 * The members of a JSON object, and one level deeper the members of its objects (`params.task_id`).
 * No fields for other bytes.
 */
export function jsonFields(bytes: Uint8Array): WireField[] {
  const fields: WireField[] = [];
  const scan = new JsonScan(bytes);
  try {
    scan.members("", fields, 1);
  } catch (fault) {
    if (!(fault instanceof NotJson)) throw fault;
  }
  return fields;
}

function textIn(bytes: Uint8Array): string | null {
  if (bytes.length === 0 || bytes.length > valueBytesMax) return null;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  return /^[^\p{C}\ufffd]*$/u.test(text) ? text : null;
}

/**
 * The beginning of a frame, for people: text if it is text, and otherwise its length and bytes in
 * hex.
 */
export function shownFrame(frame: Buffer, bytesMax: number): string {
  const shown = frame.subarray(0, bytesMax);
  const isCut = frame.length > bytesMax;
  // The cut may have gone through a character.
  const text = isCut ? shown.toString().replace(/\ufffd$/, "") : shown.toString();
  if (/^(?:[^\p{Cc}\ufffd]|[\t\r\n])*$/u.test(text)) return isCut ? `${text}…` : text;
  const hex = shown.toString("hex").replaceAll(/..(?=.)/g, "$& ");
  return `${frame.length} ${frame.length === 1 ? "byte" : "bytes"}: ${hex}${isCut ? " …" : ""}`;
}

class NotJson extends Error {}

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;

/** Finds the positions of members without parsing their values. */
class JsonScan {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** `depth`: how many more levels of objects are opened. */
  members(prefix: string, fields: WireField[], depth: number): void {
    this.#expect(openBrace);
    if (this.#peek() === closeBrace) return this.#expect(closeBrace);
    for (;;) {
      const name = `${prefix}${this.#name()}`;
      this.#expect(colon);
      const first = this.#peek();
      const at = this.#at;
      if (first === openBrace && depth > 0) this.members(`${name}.`, fields, depth - 1);
      else {
        this.#skipValue();
        if (fields.length < fieldsMax) fields.push(this.#field(name, at));
      }
      if (this.#peek() === closeBrace) return this.#expect(closeBrace);
      this.#expect(comma);
    }
  }

  #field(name: string, at: number): WireField {
    const value = this.#bytes.subarray(at, this.#at);
    return { name, at, bytes: value.length, value: textIn(value) };
  }

  #name(): string {
    this.#peek();
    const from = this.#at;
    this.#skipString();
    return Buffer.from(this.#bytes.subarray(from + 1, this.#at - 1)).toString();
  }

  #skipValue(): void {
    const first = this.#peek();
    if (first === quote) return this.#skipString();
    let depth = 0;
    while (this.#at < this.#bytes.length) {
      const byte = this.#bytes[this.#at] as number;
      if (byte === quote) {
        this.#skipString();
        continue;
      }
      if (byte === openBrace || byte === openBracket) depth += 1;
      else if (depth === 0 && (byte === comma || byte === closeBrace || byte <= 0x20)) return;
      else if (byte === closeBrace || byte === closeBracket) {
        depth -= 1;
        if (depth === 0) {
          this.#at += 1;
          return;
        }
      }
      this.#at += 1;
    }
    throw new NotJson();
  }

  #skipString(): void {
    this.#expect(quote);
    while (this.#at < this.#bytes.length) {
      const byte = this.#bytes[this.#at];
      this.#at += byte === backslash ? 2 : 1;
      if (byte === quote) return;
    }
    throw new NotJson();
  }

  /** The next byte that is not white space, without consuming it. */
  #peek(): number | undefined {
    while (this.#at < this.#bytes.length && (this.#bytes[this.#at] as number) <= 0x20) this.#at += 1;
    return this.#bytes[this.#at];
  }

  #expect(byte: number): void {
    if (this.#peek() !== byte) throw new NotJson();
    this.#at += 1;
  }
}
