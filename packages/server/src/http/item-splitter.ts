// Splits a batch into items as its bytes arrive: lines of NDJSON, or elements of a JSON array. It
// finds where each item ends and on which line it begins, and does not interpret the item. Pure:
// bytes in, items out.

import { parsedBytesMax } from "./large-items.js";

export interface BatchItem {
  /** The line on which it begins, from 1. */
  readonly line: number;
  /** Empty if the item is large. */
  readonly text: string;
  /** The bytes of an item that is too large to be parsed at once. */
  readonly bytes?: Buffer;
}

export type Cut =
  | BatchItem
  /** The rest of the batch cannot be read. */
  | { readonly line: number; readonly fault: string };

/**
 * Maximum number of blank bytes before an item that count for its line number. After more, the
 * number is too low.
 */
const blanksMax = 4096;
const lineFeed = 0x0a;
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

type Form = "unknown" | "lines" | "array" | "ended" | "broken";

export class ItemSplitter {
  #form: Form = "unknown";
  /** Parts of the current item, which spans several chunks. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  #line = 1;
  /** The line on which the current item begins. */
  #startLine = 1;
  // For an array: the nesting depth, and whether we are inside text.
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  #hasItems = false;

  /** Bytes of the current item. */
  get pendingBytes(): number {
    return this.#partBytes;
  }

  /** Returns the items that end in this chunk. */
  push(chunk: Buffer): Cut[] {
    if (this.#form === "broken") return [];
    let from = 0;
    if (this.#form === "unknown") {
      from = this.#skipSpace(chunk, 0);
      if (from === chunk.length) return [];
      const isArray = chunk[from] === openBracket;
      this.#form = isArray ? "array" : "lines";
      this.#startLine = this.#line;
      if (isArray) from += 1;
    }
    return this.#form === "lines" ? this.#pushLines(chunk, from) : this.#pushArray(chunk, from);
  }

  /** There are no more bytes. */
  end(): Cut[] {
    switch (this.#form) {
      case "lines": {
        const last = this.#takeItem(Buffer.alloc(0));
        return last === undefined ? [] : [last];
      }
      case "array":
        return [{ line: this.#line, fault: "the array is not closed; what is left of it is not read" }];
      default:
        return [];
    }
  }

  #pushLines(chunk: Buffer, start: number): Cut[] {
    const items: Cut[] = [];
    let from = start;
    for (;;) {
      const end = chunk.indexOf(lineFeed, from);
      if (end < 0) break;
      const item = this.#takeItem(chunk.subarray(from, end));
      if (item !== undefined) items.push(item);
      from = end + 1;
      this.#line += 1;
      this.#startLine = this.#line;
    }
    this.#keep(chunk.subarray(from));
    return items;
  }

  #pushArray(chunk: Buffer, start: number): Cut[] {
    const items: Cut[] = [];
    let from = start;
    for (let at = start; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (byte === lineFeed) this.#line += 1;
      if (this.#form === "ended") {
        if (isSpace(byte)) continue;
        return this.#break(items, "there is something after the array");
      }
      if (this.#isInText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === backslash) this.#isEscaped = true;
        else if (byte === quote) this.#isInText = false;
      } else if (byte === quote) this.#isInText = true;
      else if (byte === openBrace || byte === openBracket) this.#depth += 1;
      else if (this.#depth > 0) {
        if (byte === closeBrace || byte === closeBracket) this.#depth -= 1;
      } else if (byte === comma || byte === closeBracket) {
        const item = this.#takeItem(chunk.subarray(from, at));
        if (item !== undefined) items.push(item);
        else if (byte === comma || this.#hasItems)
          return this.#break(items, "an element is missing between commas");
        from = at + 1;
        this.#hasItems = true;
        if (byte === closeBracket) this.#form = "ended";
      } else if (byte === closeBrace) return this.#break(items, "a } without its {");
    }
    if (this.#form === "array") this.#keep(chunk.subarray(from));
    return items;
  }

  #break(items: Cut[], fault: string): Cut[] {
    this.#form = "broken";
    this.#parts = [];
    this.#partBytes = 0;
    items.push({ line: this.#line, fault: `${fault}; the rest of the array is not read` });
    return items;
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    // A view keeps the whole chunk alive, but only until the item ends.
    this.#parts.push(part);
    this.#partBytes += part.length;
  }

  /** The item that ends with these bytes; undefined if it is only white space. */
  #takeItem(last: Buffer): BatchItem | undefined {
    let bytes = last;
    if (this.#parts.length > 0) {
      bytes = Buffer.concat([...this.#parts, last]);
      this.#parts = [];
      this.#partBytes = 0;
    }
    if (bytes.length > parsedBytesMax) return this.#largeItem(bytes);
    const text = bytes.toString("utf8");
    const blanks = this.#form === "lines" ? 0 : leadingLines(text);
    const line = this.#startLine + blanks;
    this.#startLine = this.#line;
    return text.trim() === "" ? undefined : { line, text };
  }

  #largeItem(bytes: Buffer): BatchItem {
    const blanks = this.#form === "lines" ? 0 : leadingLines(bytes.toString("latin1", 0, blanksMax));
    const line = this.#startLine + blanks;
    this.#startLine = this.#line;
    return { line, text: "", bytes };
  }

  #skipSpace(chunk: Buffer, start: number): number {
    let at = start;
    for (; at < chunk.length && isSpace(chunk[at] as number); at++) {
      if (chunk[at] === lineFeed) this.#line += 1;
    }
    return at;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === lineFeed || byte === 0x0d || byte === 0x09;
}

function leadingLines(text: string): number {
  let lines = 0;
  for (let at = 0; at < text.length && isSpace(text.charCodeAt(at)); at++) {
    if (text.charCodeAt(at) === lineFeed) lines += 1;
  }
  return lines;
}
