// Copies sound records from one file to another, tree by tree, and names the others.

import { faultOf } from "../records/index.js";
import type { SalvageFrom, SalvageReport } from "./repair.js";
import type { StoreFile } from "./store-file.js";

/** What cannot be made again from something else. Segments are read for what they say of tasks whose progress is bad. */
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
  "bodies",
] as const satisfies readonly (keyof StoreFile)[];

const recordsAtOnce = 256;

export function copyRecords(
  source: StoreFile,
  target: StoreFile,
  start: SalvageFrom,
  report: (what: SalvageReport) => void,
): void {
  for (let tree = start.tree; tree < salvagedTrees.length; tree++) {
    const first = tree === start.tree && start.key !== "" ? Buffer.from(start.key, "hex") : undefined;
    report({ type: "at", tree, key: first?.toString("hex") ?? "" });
    copyTree(source, target, tree, first, report);
  }
}

function copyTree(
  source: StoreFile,
  target: StoreFile,
  tree: number,
  first: Buffer | undefined,
  report: (what: SalvageReport) => void,
): void {
  const name = salvagedTrees[tree] as (typeof salvagedTrees)[number];
  const [from, to] = [source[name], target[name]];
  let start = first;
  for (;;) {
    const keys = from.keys({ ...(start === undefined ? {} : { start }), limit: recordsAtOnce });
    if (keys.length === 0) return;
    target.root.transactionSync(() => {
      for (const key of keys) {
        const bytes = from.database.getBinary(key);
        const fault = bytes === undefined ? "it is not there" : faultOf(bytes, 0, bytes.length, from.kind);
        if (bytes === undefined || fault !== undefined)
          report({ type: "lost", what: `${from.nameOf(key)}: ${fault}` });
        else to.database.putSync(key, bytes);
      }
    });
    start = Buffer.concat([keys.at(-1) as Buffer, Buffer.of(0)]);
    report({ type: "at", tree, key: start.toString("hex") });
  }
}
