// Copies a store into another folder, even while a dispatcher uses it, and restores such a copy.
// The copy has everything that was acknowledged before it began.
//
// The journals are copied first, then the file, by LMDB itself and as of one moment. A batch leaves
// the journals only when the file has it, so every batch is in the copied journals or in the file.
// If a journal was overwritten while it was copied, a batch is missing or damaged. So the copy is
// read before it counts, and made again if necessary.

import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { RecordReader } from "../records/index.js";
import { journalsIn } from "./journal.js";
import { batchesBeyond } from "./journal-replay.js";
import { privateFileMode, privateFolderMode } from "./private-modes.js";
import { StoreFault } from "./store-faults.js";
import { openStoreFile, storeFileName } from "./store-file.js";
import { readState, writeState } from "./store-state.js";
import { syncPath } from "./sync-path.js";
import { transact } from "./tree-sums.js";

/** Copying the journals takes moments, so more failures than this are not chance. */
const triesMax = 10;

export interface BackupReport {
  /** Size of the copy in bytes. */
  readonly bytes: number;
  /** The greatest task id in it. */
  readonly lastTask: number;
}

/** `to` must be empty or not exist. Throws StoreFault. */
export async function backupStore(from: string, to: string): Promise<BackupReport> {
  if (!existsSync(join(from, storeFileName))) throw new StoreFault("failed", `There is no store in ${from}`);
  makeEmptyFolder(to);
  for (let tries = 1; ; tries++) {
    try {
      await copyStore(from, to);
      const lastTask = await putInOrder(to);
      for (const name of readdirSync(to)) syncPath(join(to, name));
      syncPath(to);
      return { bytes: bytesIn(to), lastTask };
    } catch (error) {
      for (const name of readdirSync(to)) rmSync(join(to, name));
      if (tries === triesMax || !isPassing(error)) throw error;
    }
  }
}

/** `to` must be empty or not exist. Throws StoreFault. */
export function restoreStore(from: string, to: string): BackupReport {
  if (!existsSync(join(from, storeFileName))) {
    throw new StoreFault("failed", `There is no backup in ${from}: it has no ${storeFileName}`);
  }
  makeEmptyFolder(to);
  for (const path of [join(from, storeFileName), ...journalsIn(from)]) copyPrivately(path, to);
  syncPath(to);
  return { bytes: bytesIn(to), lastTask: 0 };
}

async function copyStore(from: string, to: string): Promise<void> {
  for (const path of journalsIn(from)) copyPrivately(path, to);
  const path = join(to, storeFileName);
  const { root } = openStoreFile({ path: join(from, storeFileName), durability: "fsync", readOnly: true });
  try {
    // Compacted: free pages are left out.
    await root.backup(path, true);
  } finally {
    await root.close();
  }
  chmodSync(path, privateFileMode);
}

/**
 * Commits once, because LMDB writes only one of the two roots of a compacted copy, and the file
 * would count as damaged without the other. Throws BadRecord if a batch is missing between the file
 * and the journals.
 */
async function putInOrder(folder: string): Promise<number> {
  const file = openStoreFile({ path: join(folder, storeFileName), durability: "fsync" });
  try {
    const state = readState(file, new RecordReader({ copies: true }));
    batchesBeyond(journalsIn(folder), { epoch: state.epoch, number: state.lastBatch });
    transact(file, () => writeState(file, state));
    return state.lastTask;
  } finally {
    await file.root.close();
    rmSync(join(folder, `${storeFileName}-lock`), { force: true });
  }
}

/** True if a journal was overwritten or taken over while it was copied. */
function isPassing(error: unknown): boolean {
  const { name, code } = error as NodeJS.ErrnoException;
  return name === "BadRecord" || code === "ENOENT";
}

function makeEmptyFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: privateFolderMode });
  const [found] = readdirSync(folder);
  if (found === undefined) return;
  throw new StoreFault("failed", `${folder} is not empty: it has ${found} (name a folder that is empty)`);
}

function copyPrivately(path: string, folder: string): void {
  const copy = join(folder, basename(path));
  copyFileSync(path, copy);
  chmodSync(copy, privateFileMode);
  syncPath(copy);
}

function bytesIn(folder: string): number {
  return readdirSync(folder).reduce((bytes, name) => bytes + statSync(join(folder, name)).size, 0);
}
