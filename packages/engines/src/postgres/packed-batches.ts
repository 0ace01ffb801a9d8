// Batches on their way to the fold thread: copied into memory of their own, which is handed over.

import { Batch } from "../durable/batches.js";

export interface PackedBatches {
  /** The number of the first; the others follow without a gap. */
  readonly first: number;
  readonly lengths: readonly number[];
  readonly bytes: ArrayBuffer;
}

export function pack(batches: readonly Batch[]): PackedBatches {
  const lengths = batches.map(({ start, end }) => end - start);
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const batch of batches) {
    bytes.set(batch.bytes.subarray(batch.start, batch.end), at);
    at += batch.end - batch.start;
  }
  return { first: batches[0]?.number ?? 0, lengths, bytes: bytes.buffer };
}

export function unpack({ first, lengths, bytes }: PackedBatches): Batch[] {
  const whole = Buffer.from(bytes);
  let end = 0;
  return lengths.map((length, index) => {
    end += length;
    return new Batch(first + index, { bytes: whole, start: end - length, end });
  });
}
