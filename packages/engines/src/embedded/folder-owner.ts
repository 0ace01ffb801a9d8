// The owner of the folder. A file in it names the process that works there, or says that the last
// one shut down cleanly. It keeps a second process out while the first is alive. It is a
// convenience for operators, not the guarantee: if the file is deleted, or a paused process is
// taken for dead, the epoch in the store still fences.

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JournalMark } from "./journal.js";
import { privateFileMode } from "./private-modes.js";
import { StoreFault } from "./store-faults.js";

export const ownerFileName = "owner.json";

interface Owner {
  /** 0 after a clean shutdown. */
  readonly pid: number;
  /** The start time of that process, to recognise another process with the same pid. */
  readonly began: string | undefined;
  /** The store's last transaction at the last clean shutdown. */
  readonly transaction?: number | undefined;
  /** The epoch whose journals are in the folder, until the next owner has taken them over. */
  readonly journal?: number | undefined;
  /** The size of those journals; missing if an older version wrote the file. */
  readonly journalBytes?: number | undefined;
}

export interface FolderOwner {
  /** True if the last owner shut down cleanly. */
  readonly wasClean: boolean;
  /** The store's last transaction at the last clean shutdown, if known. */
  readonly transaction: number | undefined;
  /** The journals of an owner that was not shut down cleanly. They must exist. */
  readonly journal: JournalMark | undefined;
  /** True if the folder had a store. */
  readonly hadStore: boolean;
  /** Records that the folder has these journals. */
  keepJournal(mark: JournalMark): void;
  /**
   * Gives up the folder. With the store's last transaction, this is a clean shutdown; with
   * undefined, it is not.
   */
  release(transaction: number | undefined): void;
}

/**
 * Number of engines of this process per folder: tests open a store again while an earlier engine
 * still has it.
 */
const held = new Map<string, number>();

/** Throws StoreFault `in-use`. */
export function takeFolder(folder: string): FolderOwner {
  const path = join(folder, ownerFileName);
  const owner = readOwner(path);
  const wasClean = owner?.pid === 0;
  const { journal, journalBytes } = owner ?? {};
  let self: Owner = { pid: process.pid, began: startTimeOf(process.pid), journal, journalBytes };
  const holders = held.get(folder) ?? 0;
  if (holders === 0 && owner !== undefined && isAlive(owner) && !isSame(owner, self)) {
    throw new StoreFault(
      "in-use",
      `The store in ${folder} is in use by process ${owner.pid} (stop that one first, or name another folder with --data)`,
    );
  }
  writeOwner(path, self);
  held.set(folder, holders + 1);
  let isReleased = false;
  return {
    wasClean: holders > 0 || wasClean,
    transaction: holders === 0 && wasClean ? owner?.transaction : undefined,
    journal:
      holders === 0 && journal !== undefined ? { epoch: journal, bytes: journalBytes ?? 0 } : undefined,
    hadStore: owner?.journal !== undefined || owner?.transaction !== undefined,
    keepJournal({ epoch, bytes }) {
      self = { ...self, journal: epoch, journalBytes: bytes };
      writeOwner(path, self);
    },
    release(transaction) {
      if (isReleased) return;
      isReleased = true;
      const left = (held.get(folder) ?? 1) - 1;
      held.set(folder, left);
      const now = readOwner(path);
      // Another process has taken over the folder and its owner file.
      if (left > 0 || now === undefined || !isSame(now, self)) return;
      held.delete(folder);
      if (transaction !== undefined) writeOwner(path, { pid: 0, began: undefined, transaction });
    },
  };
}

function readOwner(path: string): Owner | undefined {
  try {
    const { pid, began, transaction, journal, journalBytes } = JSON.parse(readFileSync(path, "utf8"));
    if (typeof pid !== "number") return undefined;
    const number = (value: unknown) => (typeof value === "number" ? value : undefined);
    return {
      pid,
      began: typeof began === "string" ? began : undefined,
      transaction: number(transaction),
      journal: number(journal),
      journalBytes: number(journalBytes),
    };
  } catch {
    // Missing, or truncated by a crash: there is no owner.
    return undefined;
  }
}

/** Replaces the file atomically. */
function writeOwner(path: string, owner: Owner): void {
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, `${JSON.stringify(owner)}\n`, { mode: privateFileMode });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

function isSame(one: Owner, other: Owner): boolean {
  return one.pid === other.pid && one.began === other.began;
}

function isAlive({ pid, began }: Owner): boolean {
  if (pid === 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const now = startTimeOf(pid);
  return began === undefined || now === undefined || began === now;
}

/** The start time of a process, which only Linux reports; "dead" for a zombie. */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? "dead" : fields[19];
  } catch {
    return undefined;
  }
}
