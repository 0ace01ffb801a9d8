// Copies intact records from one file to another, tree by tree, and reports the others.

import { faultOf } from "../records/index.js";
import { bundleKey, tasksOfBundle } from "./keys.js";
import type { SalvageFrom, SalvageReport } from "./repair.js";
import type { StoreFile } from "./store-file.js";
import type { Tree } from "./tree.js";
import { transact } from "./tree-sums.js";

/**
 * The trees that cannot be rebuilt from others. Segments and blocks are read for what they say
 * about tasks whose records are damaged or gone.
 */
export const salvagedTrees = [
  "state",
  "queues",
  "doors",
  "keys",
  "memos",
  "trimmed",
  "segments",
  "heads",
  "progress",
  "bundles",
  "bodies",
  "blocks",
] as const satisfies readonly (keyof StoreFile)[];

/**
 * The trees whose keys are texts. All others have numbers of one length as keys: there the next
 * possible key is known even if it cannot be read.
 */
const withTextKeys: ReadonlySet<string> = new Set(["state", "queues", "doors", "keys", "memos"]);

const recordsAtOnce = 256;
/**
 * Number of records copied one by one after a crash of the reader. The next crash then costs one
 * record and not a whole step.
 */
const carefulRecords = 1024;

export function copyRecords(
  source: StoreFile,
  target: StoreFile,
  start: SalvageFrom,
  report: (what: SalvageReport) => void,
): void {
  for (let tree = start.tree; tree < salvagedTrees.length; tree++) {
    const first = tree === start.tree && start.key !== "" ? Buffer.from(start.key, "hex") : undefined;
    report({ type: "at", tree, key: first?.toString("hex") ?? "" });
    new TreeCopy(source, target, tree, report).run(first);
  }
}

/** Reports the trees that have fewer records than LMDB counted when they were committed. */
export function reportMissing(
  source: StoreFile,
  target: StoreFile,
  report: (what: SalvageReport) => void,
): void {
  for (const name of salvagedTrees) {
    const committed = entriesOf(source[name]);
    const missing = committed - entriesOf(target[name]);
    if (missing <= 0) continue;
    report({ type: "lost", what: `${name}: ${missing} of ${committed} records could not be read` });
  }
}

function entriesOf({ database }: Tree): number {
  return (database.getStats() as { entryCount: number }).entryCount;
}

export function isNumbered(tree: number): boolean {
  return tree < salvagedTrees.length && !withTextKeys.has(salvagedTrees[tree] as string);
}

/** The key `stride` positions after this one; undefined if there is none. */
export function keyAfter(key: Buffer, tree: number, stride: number): Buffer | undefined {
  if (!isNumbered(tree)) return stride === 1 ? Buffer.concat([key, Buffer.of(0)]) : undefined;
  // A bundle's key has two ids, and gaps are between the first ones.
  if (salvagedTrees[tree] === "bundles" && stride > 1) return bundleKey(tasksOfBundle(key).first + stride, 0);
  const next = (BigInt(`0x${key.toString("hex")}`) + BigInt(stride))
    .toString(16)
    .padStart(key.length * 2, "0");
  return next.length > key.length * 2 ? undefined : Buffer.from(next, "hex");
}

class TreeCopy {
  readonly #target: StoreFile;
  readonly #from: Tree;
  readonly #to: Tree;
  readonly #tree: number;
  readonly #report: (what: SalvageReport) => void;

  constructor(source: StoreFile, target: StoreFile, tree: number, report: (what: SalvageReport) => void) {
    const name = salvagedTrees[tree] as (typeof salvagedTrees)[number];
    this.#target = target;
    this.#from = source[name];
    this.#to = target[name];
    this.#tree = tree;
    this.#report = report;
  }

  run(first: Buffer | undefined): void {
    const [end] = this.#from.keys({ reverse: true, limit: 1 });
    let start = first;
    let careful = first === undefined ? 0 : carefulRecords;
    while (end !== undefined && (start === undefined || start.compare(end) <= 0)) {
      const limit = careful > 0 ? 1 : recordsAtOnce;
      const keys = this.#from.keys(start === undefined ? { limit } : { start, limit });
      const last = keys.at(-1);
      // This is not the end: a page on the way leads nowhere. LMDB then fails in every later call,
      // so another process continues.
      if (last === undefined) throw new Error("the next page cannot be reached");
      transact(this.#target, () => {
        for (const key of keys) this.#copy(key);
      });
      careful -= keys.length;
      start = keyAfter(last, this.#tree, 1);
      if (start === undefined) return;
      this.#report({ type: "at", tree: this.#tree, key: start.toString("hex") });
    }
  }

  #copy(key: Buffer): void {
    const bytes = this.#from.database.getBinary(key);
    const fault = bytes === undefined ? "it is not there" : faultOf(bytes, 0, bytes.length, this.#from.kind);
    if (bytes !== undefined && fault === undefined) this.#to.copy(key, bytes);
    else this.#report({ type: "lost", what: `${this.#from.nameOf(key)}: ${fault}` });
  }
}
