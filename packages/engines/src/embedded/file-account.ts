// Checks, at every start and before LMDB opens the file, that everything committed is still in it.

import { BadRecord, newerVersionOf, RecordReader, recordKinds, recordVersion } from "../records/index.js";
import { SchemaTooNew } from "./migrations.js";
import { type EntryCheck, type WalkedFile, walkPages } from "./page-walk.js";
import { storeTreeNames } from "./store-file.js";

/**
 * Throws BadRecord. `transaction`: the last one at a clean shutdown, if known. If the file's last
 * transaction is earlier, a root was lost and the previous one took its place, or the file is an
 * older copy.
 */
export function accountForFile(path: string, transaction: number | undefined): WalkedFile {
  const walked = withPath(path, () => walkPages(path, trees));
  if (transaction !== undefined && walked.transaction < transaction) {
    throw new BadRecord(
      `${path} ends with transaction ${walked.transaction}, but ended with ${transaction} when it was closed: it is an older copy, or its last root is lost`,
    );
  }
  return walked;
}

function withPath(path: string, walk: () => WalkedFile): WalkedFile {
  try {
    return walk();
  } catch (error) {
    if (error instanceof BadRecord) throw new BadRecord(`${path} is damaged: ${error.message}`);
    throw error;
  }
}

const reader = new RecordReader();

/** A task's record starts with the task's id, which must equal the key: keys have no CRC. */
function ownsKey(kind: number): EntryCheck {
  return (page, key, data, end) => {
    const id = page.readUIntBE(key, 6);
    reader.begin(page, data, end);
    if (page[data + 5] !== kind || reader.number() !== id)
      throw new BadRecord(`the record under the key of task ${id} is not of that task`);
  };
}

/**
 * Every start writes the store's own records, so they show the version of the last program. A newer
 * version is not damage: a repair would drop every record.
 */
const isOfThisProgram: EntryCheck = (page, _key, data, end) => {
  const version = newerVersionOf(page, data, end);
  if (version === undefined) return;
  throw new SchemaTooNew(
    `the store has records of version ${version}, and this program reads up to ${recordVersion}`,
  );
};

/** Throws SchemaTooNew if a newer program wrote the file. Ignores damage. */
export function refuseNewer(path: string): void {
  try {
    walkPages(path, trees);
  } catch (error) {
    if (error instanceof SchemaTooNew) throw error;
  }
}

const checks: ReadonlyMap<string, EntryCheck> = new Map([
  ["state", isOfThisProgram],
  ["heads", ownsKey(recordKinds.head)],
  ["progress", ownsKey(recordKinds.progress)],
]);

const trees: ReadonlyMap<string, EntryCheck | undefined> = new Map(
  storeTreeNames.map((name) => [name, checks.get(name)]),
);
