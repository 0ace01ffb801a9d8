// Replay: the batches that the journals of earlier owners have and the store does not.

import { Batch } from "../durable/batches.js";
import { BadRecord } from "../records/index.js";
import { diskFiles, type JournalFiles } from "./journal-files.js";
import { type BatchMark, type JournalEntry, readJournal } from "./journal-form.js";

/** A journal's name ends with this after an operator has accepted its damage with `--repair`. */
export const repairedSuffix = ".repaired";

/** The mark of a store that has no batches. */
export const nothingStored: BatchMark = { epoch: 0, number: 0 };

/** The batches that the store does not have, in order. Throws BadRecord if one is missing. */
export function batchesBeyond(
  journals: readonly string[],
  stored: BatchMark,
  files: JournalFiles = diskFiles,
): Batch[] {
  const batches: JournalEntry[] = [];
  for (const path of journals) {
    const { entries, damaged } = readJournal(ownMemory(files.read(path)), stored);
    const isAccepted = path.endsWith(repairedSuffix);
    if (damaged.length > 0 && !isAccepted) throw new BadRecord(`${path}: ${damaged[0]}`);
    for (const entry of entries) {
      if (entry.epoch > stored.epoch) {
        throw new BadRecord(
          `${path} was written in epoch ${entry.epoch}, and the store is of epoch ${stored.epoch}: it is an older copy`,
        );
      }
      if (entry.epoch === stored.epoch && entry.number > stored.number) batches.push(entry);
    }
  }
  batches.sort((one, other) => one.number - other.number);
  const isAccepted = journals.some((path) => path.endsWith(repairedSuffix));
  batches.forEach(({ number }, index) => {
    if (number !== stored.number + 1 + index && !isAccepted)
      throw new BadRecord(`the journal lacks batch ${stored.number + 1 + index}, and has batch ${number}`);
  });
  return batches.map((entry) => new Batch(entry.number, entry));
}

/**
 * The last batch of this epoch in the journals; 0 if there is none. Batches stay there until later
 * ones replace them, so it is at least the last batch of the store.
 */
export function lastBatchIn(
  journals: readonly string[],
  epoch: number,
  files: JournalFiles = diskFiles,
): number {
  const entries = journals.flatMap((path) => readJournal(files.read(path), nothingStored).entries);
  return Math.max(0, ...entries.flatMap((entry) => (entry.epoch === epoch ? entry.number : [])));
}

/**
 * A copy that starts at offset 0 of its memory, as LMDB needs it. Node may read a small file into a
 * shared buffer.
 */
function ownMemory(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
