// A client of BullMQ: adds jobs with several in flight, or runs one at a time and records how long
// each takes.

import { Queue, QueueEvents } from "bullmq";
import { Redis } from "ioredis";
import { cpuMicros, onOrder, readArgs, report } from "./child.js";
import { alone, inTurn } from "./submitting.js";

const { port } = readArgs<{ port: number }>();
const redis = () => new Redis({ host: "127.0.0.1", port, maxRetriesPerRequest: null });
const queue = new Queue("bench", { connection: redis() });
const events = new QueueEvents("bench", { connection: redis() });
await events.waitUntilReady();
const payload = "a job of a few dozen bytes, as real ones are";
// Keeps as few jobs as possible, because kept jobs cost time.
const options = { removeOnComplete: true };
onOrder(async ({ tasks, underWay, calls }) => {
  if (calls !== undefined) {
    const call = async () => (await queue.add("job", { payload })).waitUntilFinished(events);
    report({ ms: await alone(calls as number, call) });
  } else {
    await inTurn(tasks as number, underWay as number, () => queue.add("job", { payload }, options));
    report({ cpuMicros: cpuMicros() });
  }
});
report({ ready: true });
