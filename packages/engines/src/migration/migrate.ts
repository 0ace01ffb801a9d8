// Moves everything that a stopped dispatcher has stored from one engine to another. Ids and numbers
// stay the same, and the source stays as it is. The target becomes a store in the last step, after
// everything in it was read back and compared.

import { FolderSource, FolderTarget } from "../embedded/migration-folder.js";
import { StoreFault } from "../embedded/store-faults.js";
import type { Engine } from "../engine.js";
import { type PostgresPlace, SchemaSource, SchemaTarget } from "../postgres/migration-schema.js";
import { Unavailable } from "../postgres/session.js";
import type { Source, Target } from "./places.js";
import { type Contents, readAll } from "./reading.js";
import type { StoreCounts } from "./tally.js";
import { StoreWriter } from "./writing.js";

/** A folder of the embedded engine, or a schema of the Postgres engine. */
export type StorePlace = { readonly folder: string } | PostgresPlace;

export type MigrationPhase = "copy" | "check";

export interface MigrationOptions {
  readonly from: StorePlace;
  readonly to: StorePlace;
  /** Tasks done in this phase, out of all. */
  readonly onProgress?: (phase: MigrationPhase, done: number, total: number) => void;
}

export interface MigrationReport extends StoreCounts {
  /** The last task id that was given out. The next task is given a greater one. */
  readonly lastTask: number;
}

/** Throws StoreFault. */
export async function migrateStore({ from, to, onProgress }: MigrationOptions): Promise<MigrationReport> {
  const source = "folder" in from ? new FolderSource(from.folder) : new SchemaSource(from);
  const target = "folder" in to ? new FolderTarget(to.folder) : new SchemaTarget(to);
  try {
    await source.check();
    await target.begin();
    return await copied(source, target, (phase) => (done, total) => onProgress?.(phase, done, total));
  } catch (error) {
    throw error instanceof Unavailable
      ? new StoreFault("failed", `Postgres: ${error.message}`, error)
      : error;
  } finally {
    await source.close();
    await target.close();
  }
}

async function copied(
  source: Source,
  target: Target,
  onRead: (phase: MigrationPhase) => (read: number, total: number) => void,
): Promise<MigrationReport> {
  const { epoch } = await source.engine.open();
  const contents = await opened(target.engine(), (engine, drafted) =>
    readAll(source.engine, new StoreWriter(engine, drafted), onRead("copy")),
  );
  await target.raise({ ...contents.marks, epoch });
  const found = await opened(target.engine(), (engine) => readAll(engine, {}, onRead("check")));
  compare(contents, found);
  source.checkRead();
  await checkOwned(source, epoch);
  await target.publish();
  return { ...contents.tally.counts, lastTask: contents.marks.lastTask };
}

/** Opens the engine for some work. */
async function opened<Value>(engine: Engine, work: (engine: Engine, epoch: number) => Promise<Value>) {
  const { epoch } = await engine.open();
  try {
    return await work(engine, epoch);
  } finally {
    await engine.close();
  }
}

function compare(read: Contents, found: Contents): void {
  const [expected, actual] = [read, found].map(({ tally, marks }) => ({
    ...tally.counts,
    ...marks,
    digest: tally.digest,
  }));
  if (JSON.stringify(expected) === JSON.stringify(actual)) return;
  throw new StoreFault(
    "damaged",
    `The copy is not what was read: expected ${JSON.stringify(expected)}, found ${JSON.stringify(actual)}`,
  );
}

/** A dispatcher that took the source over meanwhile has changed what was copied. */
async function checkOwned(source: Source, epoch: number): Promise<void> {
  const outcome = await source.engine.commit({ epoch, number: 1, changes: [] });
  if (outcome.type === "done") return;
  throw new StoreFault(
    "in-use",
    `${source.name} was used meanwhile, so the copy is not kept: ${outcome.message}`,
  );
}
