// A worker of the SDK over http: reports when it has run the expected number of tasks.

import { work } from "@yardmaster/sdk";
import { cpuMicros, onOrder, readArgs, report } from "./child.js";

const { address, slots } = readArgs<{ address: string; slots: number }>();
let left = 0;
await work(`http://${address}`, { queue: "bench", concurrency: slots }, () => {
  left -= 1;
  if (left === 0) report({ cpuMicros: cpuMicros() });
  return "ok";
});
onOrder(({ expect }) => {
  left = expect as number;
  report({ expecting: left });
});
report({ ready: true });
