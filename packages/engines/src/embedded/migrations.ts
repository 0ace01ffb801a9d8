// Migrations from one layout of the file to the next. The file holds the number of its layout. A
// step and the new number are one transaction, so a crash leaves the old layout or the new one. A
// layout newer than this program is refused.
//
// To change the layout: raise `schemaVersion`, add a step from the version before, and keep reading
// old records (record-form.ts).

import { RecordReader } from "../records/index.js";
import type { StoreFile } from "./store-file.js";
import { countSums } from "./tree-sums.js";

/**
 * Version 2 added bundles (bundles.ts); segments say which tasks are in one. Version 3 added the
 * sums of the trees (tree-sums.ts).
 */
export const schemaVersion = 3;

export interface Migration {
  /** The version that it produces from the one before. */
  readonly to: number;
  readonly run: (file: StoreFile) => void;
}

/** An empty file needs no change for version 1, and version 2 only added trees. */
export const migrations: readonly Migration[] = [
  { to: 1, run: () => {} },
  { to: 2, run: () => {} },
  { to: 3, run: countSums },
];

/** The file was written by a newer program. */
export class SchemaTooNew extends Error {
  override readonly name = "SchemaTooNew";
}

const schemaKey = Buffer.from("schema");

/** Call inside a transaction: brings the file to the newest layout. */
export function migrate(file: StoreFile, steps: readonly Migration[]): void {
  const version = schemaOf(file);
  const last = steps.at(-1)?.to ?? schemaVersion;
  if (version > last) {
    throw new SchemaTooNew(
      `the store has schema version ${version}, and this program knows up to ${last}: use a newer yardmaster`,
    );
  }
  if (version === last) return;
  for (const step of steps) if (step.to > version) step.run(file);
  file.state.put(schemaKey, (to) => to.number(last));
}

/** The file's version; 0 for a new file. */
export function schemaOf(file: StoreFile): number {
  const bytes = file.state.read(schemaKey);
  if (bytes === undefined) return 0;
  const reader = new RecordReader();
  reader.begin(bytes, 0, bytes.length);
  return reader.number();
}
