// Splits a stream of bytes into lines as they complete. An incomplete rest is dropped when the
// stream is cut.

import { YardError } from "../errors.js";

const lineFeed = 0x0a;
/** Room for the largest payload in base64 and its envelope. */
const lineBytesMax = 600_000_000;

export class LineSplitter {
  #parts: Buffer[] = [];
  #partBytes = 0;

  /** The lines that this chunk completes. */
  push(chunk: Buffer): string[] {
    const last = chunk.lastIndexOf(lineFeed);
    if (last < 0) {
      this.#keep(chunk);
      return [];
    }
    const whole = chunk.subarray(0, last);
    const text =
      this.#parts.length === 0 ? whole.toString() : Buffer.concat([...this.#parts, whole]).toString();
    this.#parts = [];
    this.#partBytes = 0;
    this.#keep(chunk.subarray(last + 1));
    return text.split("\n");
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#partBytes += part.length;
    if (this.#partBytes > lineBytesMax)
      throw new YardError("answer_too_large", `a line of over ${lineBytesMax} bytes`);
  }
}
