// Copies sound records from one file to another, tree by tree, and names the others.

import { faultOf } from "../records/index.js";
import { bundleKey, tasksOfBundle } from "./keys.js";
import type { SalvageFrom, SalvageReport } from "./repair.js";
import type { StoreFile } from "./store-file.js";
import type { Tree } from "./tree.js";

/**
 * What cannot be made again from something else. Segments and blocks are read for what they say of tasks whose records are
 * bad, or gone.
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

/** Those whose keys are numbers, all of one length: there it is known what comes next, whether it can be read or not. */
const numbered: ReadonlySet<string> = new Set([
  "trimmed",
  "segments",
  "heads",
  "progress",
  "bundles",
  "bodies",
  "blocks",
]);

const recordsAtOnce = 256;
/** After a fall, so many records are copied one by one, so that the next fall costs one and not a whole step. */
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

/** Names the trees that have fewer records now than LMDB counted when they were committed. */
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
  return numbered.has(salvagedTrees[tree] ?? "");
}

/** The key so many places on; undefined where there is none. */
export function keyAfter(key: Buffer, tree: number, stride: number): Buffer | undefined {
  if (!numbered.has(salvagedTrees[tree] ?? ""))
    return stride === 1 ? Buffer.concat([key, Buffer.of(0)]) : undefined;
  // Where bundles begin is what there are gaps between.
  if (salvagedTrees[tree] === "bundles" && stride > 1) return bundleKey(tasksOfBundle(key).first + stride, 0);
  const next = (BigInt(`0x${key.toString("hex")}`) + BigInt(stride))
    .toString(16)
    .padStart(key.length * 2, "0");
  return next.length > key.length * 2 ? undefined : Buffer.from(next, "hex");
}

class TreeCopy {
  readonly #root: StoreFile["root"];
  readonly #from: Tree;
  readonly #to: Tree;
  readonly #tree: number;
  readonly #report: (what: SalvageReport) => void;

  constructor(source: StoreFile, target: StoreFile, tree: number, report: (what: SalvageReport) => void) {
    const name = salvagedTrees[tree] as (typeof salvagedTrees)[number];
    this.#root = target.root;
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
      // Not the end: something on the way there leads nowhere. What LMDB met once it meets in all it does from then on.
      if (last === undefined) throw new Error("what leads on is bad");
      this.#root.transactionSync(() => {
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
    if (bytes !== undefined && fault === undefined) this.#to.database.putSync(key, bytes);
    else this.#report({ type: "lost", what: `${this.#from.nameOf(key)}: ${fault}` });
  }
}
