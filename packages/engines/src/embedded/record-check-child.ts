// The child process that checks every record of a file: `record-check-child.js FILE`. See
// record-check.ts.

import { setPriority } from "node:os";
import type { CheckReport } from "./record-check.js";
import { openStoreFile, treesOf } from "./store-file.js";

/** Records that are checked between two pauses: the check is not urgent. */
const recordsAtOnce = 1000;
const pauseMs = 2;

// The engine is gone.
process.once("disconnect", () => process.exit());

const [path] = process.argv.slice(2);
try {
  if (path === undefined) throw new Error("no file was named");
  setPriority(19);
  const file = openStoreFile({ path, durability: "memory" });
  const trees = treesOf(file);
  let records = 0;
  for (const tree of trees) {
    for (const key of tree.database.getKeys({ snapshot: false })) {
      const fault = tree.faultAt(key);
      if (fault !== undefined) report({ type: "damaged", what: fault });
      records += 1;
      if (records % recordsAtOnce === 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  report({ type: "done", records });
  await file.root.close();
} catch (error) {
  report({ type: "damaged", what: (error as Error).message });
  process.exitCode = 1;
}
process.disconnect?.();

function report(what: CheckReport): void {
  process.send?.(what);
}
