// Workers with slots whose attempts have leases: an open connection does not show that a handler
// still runs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { attemptOf, type TaskId, type WorkerId } from "./names.js";
import { YardDriver } from "./testing/yard-driver.js";

test("a worker with slots may have leases, and a beat renews one", () => {
  const yard = new YardDriver();
  yard.join("w", { slots: 2, leaseMs: 1000 });
  assert.deepEqual(yard.submit(), ["assign 1 to w as 1.1 for 1000"]);
  yard.wait(900);
  yard.beat("w", 1, 1000);
  assert.deepEqual(yard.wait(999), []);
  assert.deepEqual(yard.wait(1), ["revoke 1 from w as 1.1: lease_over", "assign 1 to w as 1.2 for 1000"]);
});

test("a lease that is over keeps its slot until the worker answers or gives it back", () => {
  const yard = new YardDriver();
  yard.join("w", { slots: 1, leaseMs: 1000 });
  yard.submit();
  yard.submit();
  assert.deepEqual(yard.wait(1000), ["revoke 1 from w as 1.1: lease_over"]);
  assert.equal(yard.state(2), "waiting");
  const attempt = attemptOf(1, 1);
  const back = { worker: "x/w" as WorkerId, task: 1 as TaskId, attempt, reason: "stopping" as const };
  assert.deepEqual(yard.post("x", { type: "attempt-returned", ...back }), ["assign 1 to w as 1.2 for 1000"]);
});

test("a worker that comes back drained hears that it is", () => {
  const yard = new YardDriver();
  yard.join("w", { slots: 1, leaseMs: 1000 });
  assert.deepEqual(yard.drain("w"), ["drained w"]);
  assert.deepEqual(yard.join("w", { slots: 1, leaseMs: 1000 }), ["drained w"]);
});
