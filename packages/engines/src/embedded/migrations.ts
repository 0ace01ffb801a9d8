// From one layout of the file to the next. The file says which it has; each step is done in the same transaction as the
// new number, so a crash leaves the one or the other. A layout newer than this program is refused, never guessed at.
//
// To change the layout: raise `schemaVersion`, add a step from the one before, keep reading old records (record-form.ts).

import { RecordReader } from "../records/index.js";
import type { StoreFile } from "./store-file.js";

/** 2: there are bundles (bundles.ts), and segments say which tasks are in one. */
export const schemaVersion = 2;

export interface Migration {
  /** The layout it makes, out of the one before. */
  readonly to: number;
  readonly run: (file: StoreFile) => void;
}

/** The first layout is made by writing into an empty file; the second holds nothing new until something is written. */
export const migrations: readonly Migration[] = [
  { to: 1, run: () => {} },
  { to: 2, run: () => {} },
];

/** The file was written by a newer program. */
export class SchemaTooNew extends Error {
  override readonly name = "SchemaTooNew";
}

const schemaKey = Buffer.from("schema");

/** Inside a transaction: brings the file to the last layout there is. */
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

/** 0 for a file that is new. */
export function schemaOf(file: StoreFile): number {
  const bytes = file.state.read(schemaKey);
  if (bytes === undefined) return 0;
  const reader = new RecordReader();
  reader.begin(bytes, 0, bytes.length);
  return reader.number();
}
