// Queues with a history of their own: evicted by their own limits, and not by those of others.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { historyLaneOf, historySegmentOf } from "./history-segment.js";
import { defaultQueueSettings } from "./limits.js";
import type { StoredTask } from "./records.js";
import { YardDriver } from "./testing/yard-driver.js";

const hour = 3_600_000;
const generous = { bytes: 1e9, ageMs: 24 * hour, count: 1e6 };
const common = { bytes: 1e9, ageMs: hour, count: 32 };

function laneOf({ progress }: StoredTask): number {
  return historyLaneOf(historySegmentOf(progress?.settled ?? 1));
}

/** Submits and cancels tasks of a queue. */
function finish(yard: YardDriver, queue: string, count: number): void {
  for (let left = count; left > 0; left--) {
    yard.submit({ queue });
    yard.cancel(yard.core.lastTask);
  }
}

const kept = (yard: YardDriver, queue: string) =>
  [...yard.store.tasks.values()].filter(({ head }) => head.queue === queue).length;

function withLane(retention = generous): YardDriver {
  const yard = new YardDriver({ retention: common });
  yard.set({ retention });
  return yard;
}

describe("a queue with a retention of its own", () => {
  test("keeps its tasks while others are evicted, and evicts none of theirs", () => {
    const yard = withLane();
    finish(yard, "q", 100);
    finish(yard, "other", 100);
    assert.equal(kept(yard, "q"), 100);
    assert.ok(kept(yard, "other") <= 32, `${kept(yard, "other")}`);
    finish(yard, "q", 500);
    assert.ok(kept(yard, "other") >= 28, "they are not evicted by tasks of q");
    assert.equal(kept(yard, "q"), 600);
  });

  test("has limits of count and age, which hold after a restart", () => {
    const yard = withLane({ ...generous, count: 64 });
    finish(yard, "q", 200);
    assert.ok(kept(yard, "q") <= 64 && kept(yard, "q") >= 56, `${kept(yard, "q")}`);
    yard.restart();
    finish(yard, "q", 200);
    assert.ok(kept(yard, "q") <= 64 && kept(yard, "q") >= 56, `${kept(yard, "q")}`);
    const places = [...yard.store.tasks.values()].map(({ progress }) => progress?.settled);
    assert.equal(new Set(places).size, places.length, "no place is used twice");
    yard.wait(2 * hour);
    assert.ok(kept(yard, "q") > 0, "longer than the common age");
    yard.wait(23 * hour);
    assert.equal(kept(yard, "q"), 0);
  });

  test("goes on in the same lane after a restart, also when all of it was evicted", () => {
    const yard = withLane({ ...generous, ageMs: 1000 });
    finish(yard, "q", 3);
    const first = Math.max(...[...yard.store.tasks.values()].map(({ progress }) => progress?.settled ?? 0));
    assert.equal(laneOf(yard.stored(1)), 1);
    yard.wait(2000);
    assert.equal(kept(yard, "q"), 0);
    yard.restart();
    finish(yard, "q", 1);
    const [task] = yard.store.tasks.values();
    assert.ok(task && laneOf(task) === 1 && (task.progress?.settled ?? 0) > first);
  });

  test("a lower limit evicts at once; a reset one leaves the rest to the common limits", () => {
    const yard = withLane();
    finish(yard, "q", 600);
    yard.set({ retention: { ...generous, count: 100 } });
    assert.ok(kept(yard, "q") <= 256, `${kept(yard, "q")}`);
    yard.set({ retention: null });
    finish(yard, "q", 1);
    assert.equal(laneOf(yard.stored(601)), 0, "new tasks are in the common history");
    yard.wait(2 * hour);
    assert.equal(kept(yard, "q"), 0);
    const memos = [...yard.store.memos.keys()].filter((name) => name.includes("history/"));
    assert.deepEqual(memos, [], "and the lane is free");
  });

  test("a further queue of the configuration shares the common history, and this is counted", () => {
    const settings = { ...defaultQueueSettings, retention: generous };
    const names = Array.from({ length: 65 }, (_, at) => `q${at}`);
    const yard = new YardDriver({
      retention: common,
      queues: new Map(names.map((name) => [name, settings])),
    });
    for (const name of names) finish(yard, name, 1);
    assert.deepEqual([...yard.store.tasks.values()].map(laneOf).filter((lane) => lane === 0).length, 1);
    assert.equal(yard.core.counters.limitsReached.of("histories"), 1);
  });

  test("at most 64 queues have one", () => {
    const retention = generous;
    const settings = { ...defaultQueueSettings, retention };
    const names = Array.from({ length: 64 }, (_, at) => `q${at}`);
    const yard = new YardDriver({
      retention: common,
      queues: new Map(names.map((name) => [name, settings])),
    });
    for (const name of names) finish(yard, name, 1);
    const lanes = new Set([...yard.store.tasks.values()].map(laneOf));
    assert.deepEqual([lanes.size, lanes.has(0)], [64, false]);
    const [answer] = yard.set({ retention }, 9);
    assert.match(answer ?? "", /refused queue_full/);
    assert.equal(yard.core.view.queue("q")?.settings.retention, undefined);
  });

  test("a reset of the configuration frees its lane for another queue", () => {
    const yard = withLane({ ...generous, ageMs: 1000 });
    finish(yard, "q", 3);
    yard.set({ retention: null });
    yard.wait(2 * hour);
    yard.post("x", { type: "queue-settings-given", queue: "r", settings: { retention: generous } });
    finish(yard, "r", 1);
    const [task] = [...yard.store.tasks.values()].filter(({ head }) => head.queue === "r");
    assert.ok(task && laneOf(task) === 1);
  });
});
