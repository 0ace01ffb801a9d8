// Checks, at every start and before LMDB opens the file, that everything committed is still in it.

import {
  BadRecord,
  faultOf,
  newerVersionOf,
  RecordReader,
  recordKinds,
  recordVersion,
} from "../records/index.js";
import { SchemaTooNew } from "./migrations.js";
import { readPageHeader } from "./page-form.js";
import { type EntryCheck, type WalkChecks, type WalkedFile, walkPages } from "./page-walk.js";
import { storeTreeNames } from "./store-file.js";
import { compareSums, OlderRecords, readSums, sumsKey, type TreeSums } from "./tree-sums.js";

/**
 * Throws BadRecord. `transaction`: the last one at a clean shutdown, if known. If the file's last
 * transaction is earlier, a root was lost and the previous one took its place, or the file is an
 * older copy.
 */
export function accountForFile(path: string, transaction: number | undefined): WalkedFile {
  const walked = withPath(path, () => walkPages(path, checks()));
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

/**
 * What a repair of the file must say before it lists single records: whether some may be older than
 * the last that were committed. Throws SchemaTooNew if a newer program wrote the file.
 */
export function olderRecordsIn(path: string): string | undefined {
  try {
    walkPages(path, checks());
    return undefined;
  } catch (error) {
    if (error instanceof SchemaTooNew) throw error;
    if (error instanceof OlderRecords) return `${path}: ${error.message}`;
    return `${path}: ${(error as Error).message}; because of that, records that are older than what was acknowledged would not be noticed`;
  }
}

/** The record of the sums, and the transaction that wrote its page. */
interface Committed {
  readonly sums: TreeSums;
  readonly transaction: number;
}

/**
 * Every transaction writes the sums. A page with them from an earlier transaction is an older
 * version of itself.
 */
function compare({ transaction, sums }: WalkedFile, committed: Committed | undefined): void {
  // A store of an older layout has none. The number of its own records is that of the last root, so
  // this cannot be an older version of a page.
  if (committed === undefined) return;
  if (committed.transaction !== transaction) {
    throw new OlderRecords(
      `the store's own records are of transaction ${committed.transaction}, and the last one was ${transaction}: they are older than what was acknowledged`,
    );
  }
  compareSums(sums, committed.sums);
}

function checks(): WalkChecks {
  let committed: Committed | undefined;
  const own: EntryCheck = (page, key, data, end) => {
    isOfThisProgram(page, key, data, end);
    if (sumsKey.compare(page, key, data) !== 0) return;
    const fault = faultOf(page, data, end, recordKinds.bytes);
    if (fault !== undefined) throw new BadRecord(`the store's own record "sums": ${fault}`);
    reader.begin(page, data, end);
    committed = { sums: readSums(reader), transaction: readPageHeader(page).transaction };
  };
  const named = new Map([
    ["state", own],
    ["heads", ownsKey(recordKinds.head)],
    ["progress", ownsKey(recordKinds.progress)],
  ]);
  return {
    trees: new Map(storeTreeNames.map((name) => [name, named.get(name)])),
    whole: (walked) => compare(walked, committed),
  };
}
