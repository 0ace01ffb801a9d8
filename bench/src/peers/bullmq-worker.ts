// A worker of BullMQ: reports when it has run the expected number of jobs.

import { Worker } from "bullmq";
import { Redis } from "ioredis";
import { cpuMicros, onOrder, readArgs, report } from "./child.js";

const { port, slots } = readArgs<{ port: number; slots: number }>();
let left = 0;
const connection = new Redis({ host: "127.0.0.1", port, maxRetriesPerRequest: null });
const worker = new Worker("bench", async () => "ok", { connection, concurrency: slots });
worker.on("completed", () => {
  left -= 1;
  if (left === 0) report({ cpuMicros: cpuMicros() });
});
await worker.waitUntilReady();
onOrder(({ expect }) => {
  left = expect as number;
  report({ expecting: left });
});
report({ ready: true });
