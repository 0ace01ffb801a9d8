// Holds a million waiting tasks in a runtime with the memory engine and prints the memory used, as
// JSON.

import { defaultCoreOptions } from "@yardmaster/core";
import { MemoryEngine } from "@yardmaster/engines";
import { Runtime, realClock } from "@yardmaster/server";

const tasks = Number(process.argv[2] ?? 1_000_000);
const bytes = Number(process.argv[3] ?? 200);
const tasksPerTurn = 1_000;

const before = process.memoryUsage().rss;
const runtime = new Runtime({
  engine: new MemoryEngine(),
  clock: realClock,
  core: { ...defaultCoreOptions, random: Math.random },
  onFatal: (fault) => {
    throw fault;
  },
});
await runtime.start();
const port = runtime.port("bench");
const source = Buffer.alloc(bytes, 7);
for (let sent = 0; sent < tasks; sent += tasksPerTurn) {
  for (let index = 0; index < tasksPerTurn; index += 1) {
    // Like a door: a copy of the right size, not a slice of the read buffer.
    const payload = { mediaType: "application/octet-stream", size: bytes, bytes: Buffer.from(source) };
    port.post({ type: "task-submitted", submission: { queue: "bench", payload } });
  }
  await new Promise((resolve) => setImmediate(resolve));
}
const [queue] = await port.reads.queues();
const peak = process.resourceUsage().maxRSS * 1024;
globalThis.gc?.();
const after = process.memoryUsage().rss;
console.log(JSON.stringify({ waiting: queue?.waiting, before, after, peak }));
process.exit(0);
