// No host and no door can lock out the others by inventing names, and a shortage of memory only
// stops new tasks.

import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultQueueSettings } from "./limits.js";
import { YardDriver } from "./testing/yard-driver.js";
import { hostOf } from "./worker-quota.js";

const at = (host: string, port: number) => ({ address: `tcp://${host}:${port}` });

test("a host has half of the places that others leave, once it has more than is usual", () => {
  const yard = new YardDriver({ limits: { workersPerDoor: 10, workersPerHost: 2 } });
  for (let port = 1; port <= 5; port += 1) assert.deepEqual(yard.join(`a${port}`, at("10.0.0.1", port)), []);
  assert.match(yard.join("a6", at("10.0.0.1", 6)).join(), /^dismiss a6/);
  assert.deepEqual(yard.join("b1", at("10.0.0.2", 1)), []);
  assert.deepEqual(yard.join("b2", at("10.0.0.2", 2)), []);
  assert.match(yard.join("b3", at("10.0.0.2", 3)).join(), /^dismiss b3/);
  assert.deepEqual(yard.join("c1", at("10.0.0.3", 1)), []);
  assert.equal(yard.core.counters.limitsReached.of("workersPerHost"), 2);
  for (const name of ["a1", "a2", "a3"]) yard.leave(name);
  assert.deepEqual(yard.join("a7", at("10.0.0.1", 7)), []);
});

test("a door's workers leave places for those of other doors", () => {
  const yard = new YardDriver({ limits: { workers: 4, workersPerDoor: 2, workersPerHost: 10 } });
  yard.join("a");
  yard.join("b");
  assert.match(yard.join("c").join(), /^dismiss c/);
  assert.equal(yard.core.counters.limitsReached.of("workersPerDoor"), 1);
});

test("names of queues that one door's peers invent leave room for others, and configured ones always exist", () => {
  const settings = { ...defaultQueueSettings, maxWaiting: 9, maxBytes: 100 };
  const yard = new YardDriver({
    limits: { queues: 3, queuesPerDoor: 2 },
    queues: new Map([["own", settings]]),
  });
  for (const queue of ["a", "b"]) yard.submit({ queue });
  assert.deepEqual(yard.submit({ queue: "c", request: 1 }), ["reply 1 refused queue_full"]);
  assert.equal(yard.core.counters.limitsReached.of("queuesPerDoor"), 1);
  assert.match(yard.submit({ queue: "c", door: "other", request: 2 }).join(), /accepted/);
  assert.deepEqual(yard.submit({ queue: "d", door: "other", request: 3 }), [
    "other: reply 3 refused queue_full",
  ]);
  assert.match(yard.submit({ queue: "own", request: 4 }).join(), /accepted/);
  yard.cancel(1, 5);
  assert.match(yard.submit({ queue: "own", request: 6 }).join(), /accepted/);
});

test("a host has half of the names of queues that others leave, however it names them", () => {
  const yard = new YardDriver({ limits: { queues: 20, queuesPerDoor: 8, queuesPerHost: 1 } });
  const [greedy, other] = ["10.0.0.1", "10.0.0.2"];
  for (const queue of ["a", "b"]) yard.submit({ queue, host: greedy });
  yard.post("x", { type: "queue-order-given", queue: "c", order: "pause", host: greedy });
  yard.join("w", { ...at(greedy, 1), queues: ["d", "e"] });
  assert.deepEqual(yard.submit({ queue: "f", host: greedy, request: 1 }), ["reply 1 refused queue_full"]);
  assert.equal(yard.core.counters.limitsReached.of("queuesPerHost"), 2);
  for (const queue of ["g", "h"])
    assert.match(yard.submit({ queue, host: other, request: 2 }).join(), /accepted/);
  assert.deepEqual(yard.submit({ queue: "i", host: other, request: 3 }), ["reply 3 refused queue_full"]);
  // A forgotten name is free again.
  yard.leave("w");
  assert.deepEqual(yard.submit({ queue: "f", host: greedy, request: 4 }), ["reply 4 refused queue_full"]);
  yard.cancel(1, 5);
  assert.match(yard.submit({ queue: "f", host: greedy, request: 6 }).join(), /accepted/);
});

test("while memory is short new tasks are refused, and what is there goes on", () => {
  const yard = new YardDriver();
  yard.submit({ key: "k" });
  yard.post("yard", { type: "memory-noted", isShort: true });
  assert.deepEqual(yard.submit({ request: 1 }), ["reply 1 refused queue_full"]);
  assert.deepEqual(yard.submit({ key: "k", request: 2 }), ["reply 2 existing 1"]);
  assert.equal(yard.core.counters.limitsReached.of("memoryBytes"), 1);
  yard.join("w");
  yard.done("w", 1);
  yard.post("yard", { type: "memory-noted", isShort: false });
  assert.match(yard.submit({ request: 3 }).join(), /accepted/);
});

test("a host is an address without scheme and port", () => {
  const hosts = [
    "10.0.0.1",
    "10.0.0.1:80",
    "tcp://10.0.0.1:80",
    "::1",
    "[::1]:80",
    "tcp://::1:80",
    "/run/a.sock",
  ];
  assert.deepEqual(hosts.map(hostOf), [
    "10.0.0.1",
    "10.0.0.1",
    "10.0.0.1",
    "::1",
    "[::1]",
    "::1",
    "/run/a.sock",
  ]);
});
