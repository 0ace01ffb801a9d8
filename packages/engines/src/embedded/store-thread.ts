// The engine's own thread: LMDB's transactions are synchronous, and their place is not the event loop.

import assert from "node:assert/strict";
import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { runGuarded } from "./exit-guard.js";
import type { Asked } from "./store-messages.js";
import { StoreService } from "./store-service.js";

/** Enough for the event loop to go first, and not so much that on a busy machine the journal fills up. */
const niceness = 4;

assert.ok(parentPort, "this is the main module of a thread");
giveWay();
const port = parentPort;
const flags = workerData as Int32Array;
const service = new StoreService(
  (answered, handedOver) => port.postMessage(answered, handedOver),
  (work) => runGuarded(flags, work),
);
port.on("message", (asked: Asked) => service.handle(asked));

/** The journal has what is done here, so hardly anybody waits for it: on few processors the event loop goes first. */
function giveWay(): void {
  try {
    const thread = Number(readlinkSync("/proc/thread-self").split("/").at(-1));
    setPriority(thread, niceness);
  } catch {
    // Only Linux knows threads by numbers of their own. Elsewhere they are all alike.
  }
}
