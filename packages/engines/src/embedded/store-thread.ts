// The main module of the store's thread. LMDB's transactions are synchronous, and would block the
// event loop.

import assert from "node:assert/strict";
import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { runGuarded } from "./exit-guard.js";
import type { Asked } from "./store-messages.js";
import { StoreService } from "./store-service.js";

/** Enough for the event loop to run first. With 10, on a busy machine, the journal filled up. */
const niceness = 4;

assert.ok(parentPort, "this is the main module of a thread");
lowerPriority();
const port = parentPort;
const flags = workerData as Int32Array;
const service = new StoreService((answered, transferred) => port.postMessage(answered, transferred), {
  guard: (work) => runGuarded(flags, work),
});
port.on("message", (asked: Asked) => service.handle(asked));

/**
 * Lowers the thread's priority. Its work is durable in the journal already, so few wait for it, and
 * on few processors the event loop should run first.
 */
function lowerPriority(): void {
  try {
    const thread = Number(readlinkSync("/proc/thread-self").split("/").at(-1));
    setPriority(thread, niceness);
  } catch {
    // Only Linux has priorities for single threads.
  }
}
