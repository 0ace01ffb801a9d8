// Records as one parameter of a statement, from which the server cuts them: an array of bytes would
// be sent as text.

import type { BatchRecord } from "../durable/batches.js";

/** One behind the other, and where each begins (from 1) and how long it is. */
export class Block {
  readonly #parts: Uint8Array[] = [];
  readonly starts: number[] = [];
  readonly lengths: number[] = [];
  #at = 1;

  add(record: BatchRecord | undefined): void {
    this.#begin();
    if (record !== undefined) this.#put(record.bytes.subarray(record.start, record.end));
  }

  /** Several records as one, in the form of a batch: each behind its length. */
  addBatch(records: readonly BatchRecord[]): void {
    this.#begin();
    for (const { bytes, start, end } of records) this.#put(bytes.subarray(start - 4, end));
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #begin(): void {
    this.starts.push(this.#at);
    this.lengths.push(0);
  }

  #put(part: Uint8Array): void {
    this.#parts.push(part);
    this.#at += part.length;
    this.lengths[this.lengths.length - 1] = (this.lengths.at(-1) as number) + part.length;
  }
}
