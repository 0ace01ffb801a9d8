// Who has the folder. A file in it names the process that works there; one that ended in order says so in the same file.
// This keeps a second process out while the first lives. Where it fails (the file was deleted, the first was taken for dead
// and was only paused), the epoch in the store still fences: this is for people, that is for safety.

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { privateFileMode } from "./private-modes.js";
import { StoreFault } from "./store-faults.js";

export const ownerFileName = "owner.json";

interface Owner {
  /** 0 when the last one ended in order. */
  readonly pid: number;
  /** When that process began, as the system counts, so that its number in other hands is not taken for it. */
  readonly began: string | undefined;
  /** The store's last transaction when it was closed in order. */
  readonly transaction?: number | undefined;
  /** The epoch whose journals are in the folder, until somebody else has taken over what is in them. */
  readonly journal?: number | undefined;
}

export interface FolderOwner {
  /** The one before ended in order, or there was none. */
  readonly wasClean: boolean;
  /** The store's last transaction when it was closed in order, if that is known. */
  readonly transaction: number | undefined;
  /** The epoch of an owner that did not end in order and had journals: they have to be here. */
  readonly journal: number | undefined;
  /** There was a store here. */
  readonly hadStore: boolean;
  /** From now on there are journals of this epoch. */
  keepJournal(epoch: number): void;
  /** Gives the folder up. After an end in order, with the store's last transaction: the next one may rely on it. */
  release(transaction: number | undefined): void;
}

/** How many of this process work in a folder: tests open a store again while an earlier owner is still about. */
const held = new Map<string, number>();

/** Throws StoreFault `in-use`. */
export function takeFolder(folder: string): FolderOwner {
  const path = join(folder, ownerFileName);
  const owner = readOwner(path);
  const wasClean = owner?.pid === 0;
  let self: Owner = { pid: process.pid, began: beginningOf(process.pid), journal: owner?.journal };
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
    journal: holders === 0 ? owner?.journal : undefined,
    hadStore: owner?.journal !== undefined || owner?.transaction !== undefined,
    keepJournal(epoch) {
      self = { ...self, journal: epoch };
      writeOwner(path, self);
    },
    release(transaction) {
      if (isReleased) return;
      isReleased = true;
      const left = (held.get(folder) ?? 1) - 1;
      held.set(folder, left);
      const now = readOwner(path);
      // Another process took the folder over: the file is theirs.
      if (left > 0 || now === undefined || !isSame(now, self)) return;
      held.delete(folder);
      if (transaction !== undefined) writeOwner(path, { pid: 0, began: undefined, transaction });
    },
  };
}

function readOwner(path: string): Owner | undefined {
  try {
    const { pid, began, transaction, journal } = JSON.parse(readFileSync(path, "utf8"));
    if (typeof pid !== "number") return undefined;
    const number = (value: unknown) => (typeof value === "number" ? value : undefined);
    return {
      pid,
      began: typeof began === "string" ? began : undefined,
      transaction: number(transaction),
      journal: number(journal),
    };
  } catch {
    // Not there, or cut short by a crash: nobody's.
    return undefined;
  }
}

/** Whole or not at all. */
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
  const now = beginningOf(pid);
  return began === undefined || now === undefined || began === now;
}

/** Linux says when a process began; elsewhere its number has to do. A dead one that nobody has buried is dead. */
function beginningOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? "dead" : fields[19];
  } catch {
    return undefined;
  }
}
