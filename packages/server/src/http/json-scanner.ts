// Checks that bytes are one JSON value, and finds its members if it is an object. It builds no
// tree: a hundred megabytes of small values would take gigabytes. It works in slices, so that other
// requests are served in between.

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];
/**
 * A longer number is refused. Without a limit, one endless number would be scanned in a single
 * slice.
 */
const numberBytesMax = 1_000;

export interface Member {
  readonly name: string;
  /** Offsets of the value's beginning and end. */
  readonly from: number;
  readonly to: number;
}

type Expected = "value" | "first-value" | "name" | "first-name" | "colon" | "rest" | "end";

export class JsonScanner {
  /** The members of the value, once scanned; empty if it is not an object. */
  readonly members: Member[] = [];
  /** The mistake and its position. */
  fault: string | undefined;
  readonly #bytes: Buffer;
  readonly #nestingMax: number;
  /** For each open level, true if it is an object. */
  readonly #levels: boolean[] = [];
  #at = 0;
  #expected: Expected = "value";
  /** Offset of the current text; -1 outside of text. */
  #textFrom = -1;
  #name = "";
  #valueFrom = 0;

  constructor(bytes: Buffer, nestingMax: number) {
    this.#bytes = bytes;
    this.#nestingMax = nestingMax;
  }

  /** Scans about this many more bytes. Returns true when finished, with or without a fault. */
  scan(bytes: number): boolean {
    const end = Math.min(this.#bytes.length, this.#at + bytes);
    while (this.#at < end && this.fault === undefined) {
      if (this.#textFrom >= 0) this.#scanText(end);
      else this.#scanToken(this.#bytes[this.#at] as number);
    }
    if (this.fault !== undefined) return true;
    if (this.#at < this.#bytes.length) return false;
    if (this.#expected !== "end" || this.#textFrom >= 0) this.#fail("it ends too early");
    return true;
  }

  #scanToken(byte: number): void {
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) this.#at += 1;
    else if (byte === quote) this.#beginText();
    else if (byte === openBrace || byte === openBracket) this.#open(byte === openBrace);
    else if (byte === closeBrace || byte === closeBracket) this.#close(byte === closeBrace);
    else if (byte === comma) this.#next();
    else if (byte === colon) this.#step("colon", "value");
    else this.#scanWord();
  }

  #beginText(): void {
    const isName = this.#expected === "name" || this.#expected === "first-name";
    if (!isName && !this.#isValueExpected) return this.#fail("an unexpected string");
    if (!isName) this.#beginValue();
    this.#textFrom = this.#at;
    this.#at += 1;
  }

  #scanText(end: number): void {
    const bytes = this.#bytes;
    let at = this.#at;
    for (; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === quote) {
        this.#at = at + 1;
        return this.#endText();
      }
      if (byte < 0x20) return this.#fail("a control character in a string");
      if (byte !== backslash) continue;
      const length = escapeLength(bytes, at);
      if (length === 0) return this.#fail("an invalid escape");
      at += length - 1;
    }
    this.#at = at;
  }

  #endText(): void {
    const from = this.#textFrom;
    this.#textFrom = -1;
    if (this.#expected === "name" || this.#expected === "first-name") {
      if (this.#levels.length === 1) this.#name = nameIn(this.#bytes, from, this.#at);
      this.#expected = "colon";
    } else this.#endValue();
  }

  #open(isObject: boolean): void {
    if (!this.#isValueExpected) return this.#fail("an unexpected value");
    if (this.#levels.length === this.#nestingMax)
      return this.#fail(`nested deeper than ${this.#nestingMax} levels`);
    this.#beginValue();
    this.#levels.push(isObject);
    this.#expected = isObject ? "first-name" : "first-value";
    this.#at += 1;
  }

  #close(isObject: boolean): void {
    const mayClose =
      this.#expected === "rest" || this.#expected === (isObject ? "first-name" : "first-value");
    if (!mayClose || this.#levels.at(-1) !== isObject) return this.#fail("an unmatched bracket");
    this.#levels.pop();
    this.#at += 1;
    this.#endValue();
  }

  #next(): void {
    this.#step("rest", this.#levels.at(-1) === true ? "name" : "value");
  }

  #step(expected: Expected, next: Expected): void {
    if (this.#expected !== expected) return this.#fail("an unexpected character");
    this.#expected = next;
    this.#at += 1;
  }

  #scanWord(): void {
    if (!this.#isValueExpected) return this.#fail("an unexpected value");
    const text = this.#bytes.toString("latin1", this.#at, this.#at + numberBytesMax);
    const [word] = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/.exec(text) ?? [""];
    if (word === "" || word.length === numberBytesMax) return this.#fail("not a value");
    this.#beginValue();
    this.#at += word.length;
    this.#endValue();
  }

  get #isValueExpected(): boolean {
    return this.#expected === "value" || this.#expected === "first-value";
  }

  #beginValue(): void {
    if (this.#levels.length === 1) this.#valueFrom = this.#at;
  }

  #endValue(): void {
    const depth = this.#levels.length;
    this.#expected = depth === 0 ? "end" : "rest";
    if (depth === 1 && this.#levels[0] === true)
      this.members.push({ name: this.#name, from: this.#valueFrom, to: this.#at });
  }

  #fail(what: string): void {
    this.fault = `not JSON at byte ${this.#at}: ${what}`;
  }
}

/** Length of the escape sequence at this offset; 0 if it is invalid. */
function escapeLength(bytes: Buffer, at: number): number {
  const letter = bytes[at + 1] ?? 0;
  if (letter !== 0x75) return '"\\/bfnrt'.includes(String.fromCharCode(letter)) && letter !== 0 ? 2 : 0;
  return /^[0-9a-fA-F]{4}$/.test(bytes.toString("latin1", at + 2, at + 6)) ? 6 : 0;
}

/** Every name that is looked up is short. */
function nameIn(bytes: Buffer, from: number, to: number): string {
  return to - from > 256 ? "" : (JSON.parse(bytes.toString("utf8", from, to)) as string);
}
