import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instant, Moment, TaskId, WallTime, YardEvent } from "@yardmaster/core";
import type { Port } from "../door-kit/door.js";
import { WorkerRoster } from "./worker-roster.js";

function setUp() {
  const posts: YardEvent[] = [];
  const moment = (ms: number): Moment => ({ instant: ms as Instant, wall: ms as WallTime });
  let now = moment(0);
  const port: Port = {
    door: "http",
    post: (event) => posts.push(event),
    now: () => now,
    reads: {} as Port["reads"],
    openTasks: () => [],
    announce: () => {},
    lastRestored: () => 0 as TaskId,
    takeMemos: () => new Map(),
    takeLargeMemos: () => new Map(),
    isShortOfMemory: () => false,
  };
  const roster = new WorkerRoster(port, 2);
  const at = (ms: number) => {
    now = moment(ms);
    roster.handleTimeout(now);
  };
  const types = () =>
    posts.splice(0).map((event) => `${event.type} ${"worker" in event ? event.worker : ""}`);
  return { roster, at, types };
}

const word = { name: "w", address: "127.0.0.1", leaseMs: 30_000 };

test("a worker joins with its first word and leaves after a minute of silence", () => {
  const { roster, at, types } = setUp();
  assert.equal(roster.nextDeadline(), undefined);
  assert.equal(roster.heard(word), "http/w");
  roster.heard(word);
  assert.deepEqual(types(), ["worker-joined http/w"]);
  at(59_999);
  roster.heard(word);
  at(119_998);
  assert.deepEqual(types(), []);
  assert.equal(roster.nextDeadline(), 119_999);
  at(119_999);
  assert.deepEqual(types(), ["worker-left http/w"]);
  assert.equal(roster.nextDeadline(), undefined);
  roster.heard(word);
  assert.deepEqual(types(), ["worker-joined http/w"]);
});

test("a long lease or a long wait is no silence", () => {
  const { roster, at, types } = setUp();
  roster.heard({ ...word, leaseMs: 100_000 });
  roster.heard({ ...word, leaseMs: 1_000 });
  at(199_999);
  assert.deepEqual(types(), ["worker-joined http/w"]);
  roster.heard({ ...word, leaseMs: 1_000, waitMs: 50_000 });
  at(309_998);
  assert.deepEqual(types(), []);
  at(309_999);
  assert.deepEqual(types(), ["worker-left http/w"]);
});

test("a name that was given no work is forgotten after a minute", () => {
  const { roster, at, types } = setUp();
  roster.heard({ name: "w", address: "127.0.0.1" });
  at(59_999);
  assert.deepEqual(types(), ["worker-joined http/w"]);
  at(60_000);
  assert.deepEqual(types(), ["worker-left http/w"]);
});

test("more workers than it may remember are told to come back", () => {
  const { roster, types } = setUp();
  roster.heard(word);
  roster.heard({ ...word, name: "v" });
  assert.throws(() => roster.heard({ ...word, name: "u" }), { code: "queue_full" });
  roster.heard(word);
  assert.deepEqual(types(), ["worker-joined http/w", "worker-joined http/v"]);
});

test("a worker that was dismissed joins again with its next word", () => {
  const { roster, types } = setUp();
  roster.forget(roster.heard(word));
  assert.equal(roster.nextDeadline(), undefined);
  roster.heard(word);
  assert.deepEqual(types(), ["worker-joined http/w", "worker-joined http/w"]);
});
