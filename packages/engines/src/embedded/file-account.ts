// Whether all that was committed to the file is still in it. Asked before LMDB opens the file, at every start.

import { BadRecord, RecordReader, recordKinds } from "../records/index.js";
import { type EntryCheck, type WalkedFile, walkPages } from "./page-walk.js";
import { storeTreeNames } from "./store-file.js";

/**
 * Throws BadRecord. `transaction`: the last one when the file was closed in order, if that is known. Where the file is of an
 * earlier one a root was lost, and the one before it stands in, or it is an older copy.
 */
export function accountForFile(path: string, transaction: number | undefined): WalkedFile {
  const walked = tell(path, () => walkPages(path, trees));
  if (transaction !== undefined && walked.transaction < transaction) {
    throw new BadRecord(
      `${path} is of transaction ${walked.transaction}, and was of ${transaction} when it was closed: it is an older copy, or its last root is lost`,
    );
  }
  return walked;
}

function tell(path: string, walk: () => WalkedFile): WalkedFile {
  try {
    return walk();
  } catch (error) {
    if (error instanceof BadRecord) throw new BadRecord(`${path} cannot be walked: ${error.message}`);
    throw error;
  }
}

const reader = new RecordReader();

/** A task's record begins with the task's id, which is also its key: a key has no CRC. */
function ownsKey(kind: number): EntryCheck {
  return (page, key, data, end) => {
    const id = page.readUIntBE(key, 6);
    reader.begin(page, data, end);
    if (page[data + 5] !== kind || reader.number() !== id)
      throw new BadRecord(`what lies under the key of task ${id} is not of that task`);
  };
}

const checks: ReadonlyMap<string, EntryCheck> = new Map([
  ["heads", ownsKey(recordKinds.head)],
  ["progress", ownsKey(recordKinds.progress)],
]);

const trees: ReadonlyMap<string, EntryCheck | undefined> = new Map(
  storeTreeNames.map((name) => [name, checks.get(name)]),
);
