// Repair: sets a damaged file aside and makes a new one from what can be read. It runs only when an
// operator asks for it, and lists what is lost.
//
// Child processes do the reading, because a damaged page can crash the reader. A child copies
// record by record and reports its position; after a crash the next child starts a little further
// on.

import { fork } from "node:child_process";
import { cpSync, existsSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { olderRecordsIn } from "./file-account.js";
import { lastTransactionOf } from "./file-roots.js";
import { ownerFileName, takeFolder } from "./folder-owner.js";
import { type JournalMark, missingJournals, takeJournals } from "./journal.js";
import { readJournal } from "./journal-form.js";
import { nothingStored, repairedSuffix } from "./journal-replay.js";
import { makePrivateFolder } from "./private-folder.js";
import { mendRoots } from "./root-mending.js";
import { isNumbered, keyAfter, salvagedTrees } from "./salvage.js";
import { StoreFault, storeFault } from "./store-faults.js";
import { makeStoreFile, storeFileName } from "./store-file.js";

export interface RepairReport {
  /** The present path of the damaged file; undefined if there was none. */
  readonly setAside: string | undefined;
  /** Number of tasks in the new file. */
  readonly tasks: number;
  /** Descriptions of everything that could not be kept. */
  readonly lost: readonly string[];
}

/** Where a child continues to copy. After the last tree it rebuilds the new file. */
export interface SalvageFrom {
  readonly tree: number;
  /** The first key that was not copied, in hex; empty for the start of the tree. */
  readonly key: string;
}

export type SalvageReport =
  | ({ readonly type: "at" } & SalvageFrom)
  | { readonly type: "lost"; readonly what: string }
  | { readonly type: "done"; readonly tasks: number };

/**
 * A reader that cannot get past this many keys skips the rest of the tree: more than a page is
 * gone.
 */
const strideMax = 4096;

/** After this many crashes the file is not a store. */
const crashesMax = 10_000;
/** When everything is copied, no damaged page is read any more, so a crash then is our own bug. */
const crashesAtEndMax = 3;

/**
 * Throws StoreFault: `in-use` if another process works in the folder, `too-new` if a newer program
 * wrote the file. `stamp` becomes part of the name of the file that is set aside.
 */
export async function repairStore(folder: string, stamp: string): Promise<RepairReport> {
  const path = join(folder, storeFileName);
  const isThere = existsSync(path);
  if (!isThere && !existsSync(join(folder, ownerFileName)))
    return { setAside: undefined, tasks: 0, lost: [] };
  const older = isThere ? olderIn(path, folder) : undefined;
  makePrivateFolder(folder);
  const owner = takeFolder(folder);
  const setAside = `${path}.bad-${stamp}`;
  const draft = `${path}.repaired`;
  const mended = `${path}.mended`;
  const removeMended = () => {
    for (const left of [mended, `${mended}-lock`]) rmSync(left, { force: true });
  };
  try {
    for (const left of [draft, `${draft}-lock`]) rmSync(left, { force: true });
    removeMended();
    const gone = owner.hadStore ? wholeFileLosses(path, isThere, owner.transaction) : [];
    if (older !== undefined) gone.push(older);
    if (!isThere) await makeStoreFile(path);
    const journals = acceptJournals(folder, stamp);
    if (owner.journal !== undefined && isCut(owner.journal, journals.paths))
      gone.push(
        `the journal of epoch ${owner.journal.epoch}: what was acknowledged last may be gone with it`,
      );
    const mending = mendRoots(path, mended);
    if (mending !== undefined) gone.push(mending);
    const salvage = new Salvage(mending === undefined ? path : mended, draft, journals.paths);
    const tasks = await salvage.run();
    renameSync(path, setAside);
    renameSync(draft, path);
    for (const lock of [`${path}-lock`, `${draft}-lock`]) rmSync(lock, { force: true });
    owner.release(lastTransactionOf(path));
    return { setAside, tasks, lost: [...gone, ...salvage.lost, ...journals.lost] };
  } finally {
    removeMended();
    owner.release(undefined);
  }
}

/** The losses that show in the file as a whole: it is missing, empty, or an older copy. */
function wholeFileLosses(path: string, isThere: boolean, transaction: number | undefined): string[] {
  if (!isThere) return [`${path}: it is not there, and all that it held is gone`];
  if (statSync(path).size === 0) return [`${path}: it is empty, and all that it held is gone`];
  const last = transactionIn(path);
  if (transaction === undefined || last === undefined || last >= transaction) return [];
  return [
    `${path}: it ends with transaction ${last}, but ended with ${transaction} when it was closed: what came between is gone`,
  ];
}

/** Undefined if a root is damaged. */
function transactionIn(path: string): number | undefined {
  try {
    return lastTransactionOf(path);
  } catch {
    return undefined;
  }
}

/** True if one of the journals is missing, or shorter than it was. */
function isCut({ epoch, bytes }: JournalMark, paths: readonly string[]): boolean {
  return missingJournals(epoch, paths).length > 0 || paths.some((path) => statSync(path).size < bytes);
}

/** Refuses a newer program's file: every record in it would count as lost. */
function olderIn(path: string, folder: string): string | undefined {
  try {
    return olderRecordsIn(path);
  } catch (error) {
    throw storeFault(error, folder);
  }
}

/**
 * Accepts the last owner's journals with their damage. Their batches are applied when the store is
 * opened next. A damaged journal is copied aside first.
 */
function acceptJournals(folder: string, stamp: string): { paths: string[]; lost: string[] } {
  const lost: string[] = [];
  const paths = takeJournals(folder).map((path) => {
    const { damaged } = readJournal(readFileSync(path), nothingStored);
    if (damaged.length > 0) cpSync(path, `${path}.bad-${stamp}`);
    lost.push(...damaged.map((what) => `${path}: ${what}`));
    const accepted = path.replace(/(\.taken)?$/, repairedSuffix);
    renameSync(path, accepted);
    return accepted;
  });
  return { paths, lost };
}

class Salvage {
  readonly #from: string;
  readonly #to: string;
  readonly #journals: readonly string[];
  readonly lost: string[] = [];
  #at: SalvageFrom = { tree: 0, key: "" };
  #tasks: number | undefined;

  constructor(from: string, to: string, journals: readonly string[]) {
    this.#from = from;
    this.#to = to;
    this.#journals = journals;
  }

  /** Returns the number of tasks in the new file. */
  async run(): Promise<number> {
    let stride = 1;
    let crashesAtEnd = 0;
    for (let crashes = 0; crashes < crashesMax && crashesAtEnd < crashesAtEndMax; crashes++) {
      if (this.#at.tree >= salvagedTrees.length) crashesAtEnd += 1;
      const before = this.#at;
      const end = await this.#child();
      if (this.#tasks !== undefined) return this.#tasks;
      const isFurther = before.tree !== this.#at.tree || before.key !== this.#at.key;
      const isCareful = before.key !== "";
      stride = isFurther ? 1 : stride * 2;
      // The first crash may be at any record of a step of many. The next child copies those one by
      // one.
      if (isFurther && !isCareful && this.#at.key !== "") continue;
      const next = further(this.#at, stride);
      this.lost.push(
        `${rangeName(this.#at, next)}: the reader crashed there (${end}) and continued after it`,
      );
      this.#at = next;
    }
    throw new StoreFault("damaged", `${this.#from} cannot be read at all; a store begins anew without it`);
  }

  #child(): Promise<string> {
    const { tree, key } = this.#at;
    const main = fileURLToPath(new URL("./repair-child.js", import.meta.url));
    const child = fork(main, [this.#from, this.#to, String(tree), key, ...this.#journals], {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      execArgv: [],
    });
    child.on("message", (report: SalvageReport) => {
      if (report.type === "at") this.#at = { tree: report.tree, key: report.key };
      else if (report.type === "lost") this.lost.push(report.what);
      else this.#tasks = report.tasks;
    });
    return new Promise((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("exit", (code, signal) => resolve(signal ?? `code ${code}`));
    });
  }
}

/** Describes the records that are skipped between two positions. */
function rangeName(from: SalvageFrom, to: SalvageFrom): string {
  const name = salvagedTrees[from.tree] ?? "the new file";
  if (!isNumbered(from.tree) || from.key === "") return `all that is left of ${name}`;
  const thing = ofTasks.has(name) ? "task" : "number";
  const first = numberIn(from.key);
  if (to.tree !== from.tree) return `${name} of ${thing} ${first} and all after it`;
  const last = Math.max(first, numberIn(to.key) - 1);
  return first === last ? `${name} of ${thing} ${first}` : `${name} of ${thing}s ${first} to ${last}`;
}

const ofTasks: ReadonlySet<string> = new Set(["heads", "progress", "bundles", "bodies"]);

function numberIn(key: string): number {
  return Number(`0x${key.slice(0, 12)}`);
}

/** The position after a crash: `stride` keys further, or the next tree. */
function further({ tree, key }: SalvageFrom, stride: number): SalvageFrom {
  const next = key === "" || stride > strideMax ? undefined : keyAfter(Buffer.from(key, "hex"), tree, stride);
  return next === undefined ? { tree: tree + 1, key: "" } : { tree, key: next.toString("hex") };
}
