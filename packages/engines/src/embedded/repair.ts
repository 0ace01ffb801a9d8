// Sets a bad file aside and makes a new one out of what can be read of it. Never done by itself: what is lost is named, and
// somebody has to have asked for it.
//
// The reading is done in a child, because a bad page can take the reader down: it copies record by record and says how
// far it is; when it falls, the next begins a little further on.

import { fork } from "node:child_process";
import { cpSync, existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { anything, repairedSuffix } from "./batches.js";
import { lastTransactionOf } from "./file-roots.js";
import { ownerFileName, takeFolder } from "./folder-owner.js";
import { missingJournals, takeJournals } from "./journal.js";
import { readJournal } from "./journal-form.js";
import { makePrivateFolder } from "./private-folder.js";
import { mendRoots } from "./root-mending.js";
import { isNumbered, keyAfter, salvagedTrees } from "./salvage.js";
import { StoreFault } from "./store-faults.js";
import { makeStoreFile, storeFileName } from "./store-file.js";

export interface RepairReport {
  /** Where the bad file is now; undefined if there was none. */
  readonly setAside: string | undefined;
  /** Tasks in the new file. */
  readonly tasks: number;
  /** What could not be kept, each in words. */
  readonly lost: readonly string[];
}

/** What the child is asked to do: go on copying from here, and, when everything is copied, put the new file in order. */
export interface SalvageFrom {
  readonly tree: number;
  /** The first key that was not looked at, in hex; empty for the first of the tree. */
  readonly key: string;
}

export type SalvageReport =
  | ({ readonly type: "at" } & SalvageFrom)
  | { readonly type: "lost"; readonly what: string }
  | { readonly type: "done"; readonly tasks: number };

/** Where this many in a row cannot be passed, more than a page is gone. */
const strideMax = 4096;

/** A child that falls this often is reading something that is no store. */
const fallsMax = 10_000;
/** When everything is copied nothing bad is read any more: a fall there is our own. */
const fallsAtEndMax = 3;

/** Throws StoreFault `in-use` where somebody works in the folder. `stamp` tells one file set aside from another. */
export async function repairStore(folder: string, stamp: string): Promise<RepairReport> {
  const path = join(folder, storeFileName);
  const isThere = existsSync(path);
  if (!isThere && !existsSync(join(folder, ownerFileName)))
    return { setAside: undefined, tasks: 0, lost: [] };
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
    if (!isThere) await makeStoreFile(path);
    const gone = isThere || !owner.hadStore ? [] : [`${path}: it is not there, and all that it held is gone`];
    const journals = acceptJournals(folder, stamp);
    if (owner.journal !== undefined && missingJournals(owner.journal, journals.paths).length > 0)
      gone.push(`the journal of epoch ${owner.journal}: what was acknowledged last may be gone with it`);
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

/**
 * The journals of who had the store last: what is in them is taken over when it is opened next. Of one that is damaged a
 * copy is set aside; that something of it is missing is accepted from here on.
 */
function acceptJournals(folder: string, stamp: string): { paths: string[]; lost: string[] } {
  const lost: string[] = [];
  const paths = takeJournals(folder).map((path) => {
    const { damaged } = readJournal(readFileSync(path), anything);
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

  /** How many tasks there are in the new file. */
  async run(): Promise<number> {
    let stride = 1;
    let fallsAtEnd = 0;
    for (let falls = 0; falls < fallsMax && fallsAtEnd < fallsAtEndMax; falls++) {
      if (this.#at.tree >= salvagedTrees.length) fallsAtEnd += 1;
      const before = this.#at;
      const end = await this.#child();
      if (this.#tasks !== undefined) return this.#tasks;
      const isFurther = before.tree !== this.#at.tree || before.key !== this.#at.key;
      const isCareful = before.key !== "";
      stride = isFurther ? 1 : stride * 2;
      // The first fall may be anywhere in a step of many records: those before it are copied one by one.
      if (isFurther && !isCareful && this.#at.key !== "") continue;
      const next = further(this.#at, stride);
      this.lost.push(`${stretchOf(this.#at, next)}: the reader fell there (${end}) and went on behind it`);
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

/** What is passed over between two places. */
function stretchOf(from: SalvageFrom, to: SalvageFrom): string {
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

/** Past where the reader fell. Beyond what a page can hold it is the next tree. */
function further({ tree, key }: SalvageFrom, stride: number): SalvageFrom {
  const next = key === "" || stride > strideMax ? undefined : keyAfter(Buffer.from(key, "hex"), tree, stride);
  return next === undefined ? { tree: tree + 1, key: "" } : { tree, key: next.toString("hex") };
}
