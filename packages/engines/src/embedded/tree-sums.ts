// The sums of all trees (entry-sums.ts) are a record of the file, which every transaction writes.
// They are in memory only during a transaction, so a transaction that fails cannot leave wrong
// ones. At start, file-account.ts compares them with the entries.

import { BadRecord, RecordReader } from "../records/index.js";
import { type StoreFile, treesOf } from "./store-file.js";
import type { Tree } from "./tree.js";

/** By the trees' names. The tree of the store's own records has none: it contains the sums. */
export type TreeSums = ReadonlyMap<string, number>;

export const sumsKey = Buffer.from("sums");

const reader = new RecordReader();

/** Runs `work` in a transaction. All changes of a store's trees are made in one. */
export function transact(file: StoreFile, work: () => void): void {
  file.root.transactionSync(() => {
    const trees = treesOf(file);
    const sums = storedSums(file);
    for (const tree of trees) tree.begin(sums?.get(tree.name) ?? 0);
    try {
      work();
      const isChanged = trees.some((tree) => tree.isChanged);
      // A file of an older layout has none until it is migrated.
      if (isChanged && file.state.has(sumsKey)) writeSums(file);
    } finally {
      for (const tree of trees) tree.end();
    }
  });
}

/** Call inside a transaction: counts the sums anew, from all entries. */
export function countSums(file: StoreFile): void {
  for (const tree of summed(file)) tree.begin(tree.countedSum());
  writeSums(file);
}

function writeSums(file: StoreFile): void {
  file.state.put(sumsKey, (to) => {
    for (const { name, sum } of summed(file)) {
      to.string(name);
      to.number(sum >>> 0);
    }
  });
}

/** The committed sums; undefined if the file has an older layout. */
export function storedSums(file: StoreFile): TreeSums | undefined {
  const bytes = file.state.read(sumsKey);
  if (bytes === undefined) return undefined;
  reader.begin(bytes, 0, bytes.length);
  return readSums(reader);
}

export function readSums(from: RecordReader): TreeSums {
  const sums = new Map<string, number>();
  while (from.at < from.end) sums.set(from.string(), from.number() | 0);
  return sums;
}

/** The sums of the entries that are there. */
export function countedSums(file: StoreFile): TreeSums {
  return new Map(summed(file).map((tree) => [tree.name, tree.countedSum()]));
}

/** Records of the store are sound and may be older than the last that were committed. */
export class OlderRecords extends BadRecord {}

/** Throws OlderRecords that names the trees whose entries are not those that were committed. */
export function compareSums(found: TreeSums, committed: TreeSums): void {
  const wrong = [...committed].filter(([name, sum]) => found.get(name) !== sum).map(([name]) => name);
  if (wrong.length === 0) return;
  const which = wrong.length === 1 ? `tree ${wrong[0]} has` : `trees ${wrong.join(", ")} have`;
  throw new OlderRecords(
    `${which} other records than were committed last: some may be older than what was acknowledged`,
  );
}

function summed(file: StoreFile): Tree[] {
  return treesOf(file).filter((tree) => tree !== file.state);
}
