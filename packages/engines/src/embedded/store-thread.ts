// The engine's own thread: LMDB's transactions are synchronous, and their place is not the event loop.

import assert from "node:assert/strict";
import { parentPort, workerData } from "node:worker_threads";
import { runGuarded } from "./exit-guard.js";
import type { Asked } from "./store-messages.js";
import { StoreService } from "./store-service.js";

assert.ok(parentPort, "this is the main module of a thread");
const port = parentPort;
const flags = workerData as Int32Array;
const service = new StoreService(
  (answered, handedOver) => port.postMessage(answered, handedOver),
  (work) => runGuarded(flags, work),
);
port.on("message", (asked: Asked) => service.handle(asked));
