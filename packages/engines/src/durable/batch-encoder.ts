// Batches as bytes: every change is a record behind its length. One buffer is used for all of them,
// because one batch is written at a time.

import type { Change } from "@yardmaster/core";
import { RecordWriter, writeChange } from "../records/index.js";

/** A buffer that had to grow beyond the second is not kept. */
const writerBytes = 65_536;
const writerBytesMax = 1_048_576;

export interface EncodedBatch {
  /** Starts where its memory does. Valid until the next batch is encoded. */
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** The greatest id of a task whose head is in it; 0 if there is none. */
  readonly lastTask: number;
}

export class BatchEncoder {
  readonly #bodyBytesMax: number;
  readonly #room: { readonly before: number; readonly after: number };
  #writer: RecordWriter;

  /** `room`: bytes that the caller needs in front of a batch, and zeros behind it. */
  constructor(bodyBytesMax: number, room: { readonly before: number; readonly after: number }) {
    this.#bodyBytesMax = bodyBytesMax;
    this.#room = room;
    this.#writer = this.#newWriter();
  }

  encode(changes: readonly Change[]): EncodedBatch {
    if (this.#writer.bytes.length > writerBytesMax) this.#writer = this.#newWriter();
    const writer = this.#writer;
    const { before, after } = this.#room;
    writer.at = before;
    let lastTask = 0;
    for (const change of changes) {
      const mark = writer.at;
      writer.reserve(4);
      writer.at += 4;
      writeChange(writer, change);
      writer.bytes.writeUInt32LE(writer.at - mark - 4, mark);
      if (change.kind === "head" && change.head.id > lastTask) lastTask = change.head.id;
    }
    const end = writer.at;
    writer.reserve(after);
    writer.bytes.fill(0, end, end + after);
    return { bytes: writer.bytes, start: before, end, lastTask };
  }

  #newWriter(): RecordWriter {
    return new RecordWriter({ bodyBytesMax: this.#bodyBytesMax, size: writerBytes });
  }
}
