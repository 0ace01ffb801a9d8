import assert from "node:assert/strict";
import { test } from "node:test";
import type { WorkerView } from "@yardmaster/sdk";
import { workerColumns } from "./workers.js";

const state = workerColumns.find(({ title }) => title === "STATE");
const calculator: WorkerView = {
  ...{ id: "udp/10.0.0.1:7000", door: "udp", dialect: "udp", address: "10.0.0.1:7000", queues: ["udp"] },
  ...{
    slots: 0,
    running: 0,
    state: "busy",
    joinedAt: "",
    lastSeenAt: "",
    lostReason: null,
    lostAt: null,
    pulls: false,
    limitMs: null,
    silentAt: null,
    done: 0,
    failed: 0,
    donePerMinute: 0,
  },
};

test("a worker that takes nothing is shown in the state that it reports", () => {
  assert.equal(state?.value({ ...calculator, info: { status: "unavailable" } }), "unavailable");
  assert.equal(state?.value({ ...calculator, info: { status: "busy" } }), "busy");
  const one = { ...calculator, state: "idle" as const, slots: 1 };
  assert.equal(state?.value({ ...one, info: { status: "ready" } }), "idle");
  assert.equal(state?.value({ ...calculator, state: "lost", info: { status: "ready" } }), "lost");
  assert.equal(state?.value({ ...calculator, info: null }), "busy");
  assert.equal(state?.value({ ...calculator, running: 1, info: { status: "unavailable" } }), "busy");
});
