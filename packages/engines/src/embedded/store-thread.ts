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
/** After so long at work it sleeps for a moment: the system would let it go on for milliseconds while others wait. */
const workMs = 0.3;
const restMs = 0.2;

assert.ok(parentPort, "this is the main module of a thread");
giveWay();
const port = parentPort;
const flags = workerData as Int32Array;
const service = new StoreService((answered, handedOver) => port.postMessage(answered, handedOver), {
  guard: (work) => runGuarded(flags, work),
  rest,
});
const nobodyWakes = new Int32Array(new SharedArrayBuffer(4));
let restedAt = 0;
port.on("message", (asked: Asked) => service.handle(asked));

function rest(): void {
  if (performance.now() - restedAt < workMs) return;
  Atomics.wait(nobodyWakes, 0, 0, restMs);
  restedAt = performance.now();
}

/** The journal has what is done here, so hardly anybody waits for it: on few processors the event loop goes first. */
function giveWay(): void {
  try {
    const thread = Number(readlinkSync("/proc/thread-self").split("/").at(-1));
    setPriority(thread, niceness);
  } catch {
    // Only Linux knows threads by numbers of their own. Elsewhere they are all alike.
  }
}
