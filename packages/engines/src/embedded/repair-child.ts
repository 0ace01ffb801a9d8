// The child process of a repair, which copies what can be read: `repair-child.js FROM TO TREE KEY
// [JOURNAL]…`. See repair.ts.

import { rebuild } from "./rebuild.js";
import type { SalvageReport } from "./repair.js";
import { copyRecords, reportMissing, salvagedTrees } from "./salvage.js";
import { openStoreFile } from "./store-file.js";

process.once("disconnect", () => process.exit());

const [from = "", to = "", tree = "0", key = "", ...journals] = process.argv.slice(2);

if (Number(tree) < salvagedTrees.length) {
  const source = openStoreFile({ path: from, durability: "memory" });
  const target = openStoreFile({ path: to, durability: "memory" });
  copyRecords(source, target, { tree: Number(tree), key }, report);
  reportMissing(source, target, report);
  await source.root.close();
  await target.root.close();
}
const tasks = await rebuild(to, journals, (what) => report({ type: "lost", what }));
report({ type: "done", tasks });
process.disconnect?.();

function report(what: SalvageReport): void {
  process.send?.(what);
}
