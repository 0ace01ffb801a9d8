// What the core reports to an observer, and its counts of queues and workers.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defaultQueueSettings } from "./limits.js";
import type { TaskId } from "./names.js";
import { type Observer, Observers } from "./observer.js";
import { SlidingCount } from "./sliding-count.js";
import { YardDriver } from "./testing/yard-driver.js";
import type { Instant } from "./time.js";

class Notes implements Observer {
  readonly all: string[] = [];

  began: Observer["began"] = ({ task, workerId, worker }) =>
    this.#add(`began ${task.head.id} on ${workerId} of ${worker?.door.name}`);
  ended: Observer["ended"] = ({ task, workerId }, how, reason) =>
    this.#add(`${how} ${task.head.id} on ${workerId}: ${reason}`);
  finished: Observer["finished"] = ({ head, losses }, { state, error }, by) =>
    this.#add(`${state} ${head.id} by ${by?.workerId} (${error?.code}, ${losses} lost)`);
  workerLost: Observer["workerLost"] = ({ id, lostReason, running }) =>
    this.#add(`worker ${id} ${lostReason} with ${running}`);
  undelivered: Observer["undelivered"] = ({ head }) => this.#add(`undelivered ${head.id}`);

  #add(note: string): void {
    this.all.push(note);
  }

  take(): string[] {
    return this.all.splice(0);
  }
}

function watched(options = {}): { yard: YardDriver; notes: Notes } {
  const yard = new YardDriver(options);
  const notes = new Notes();
  const observers = new Observers();
  observers.add(notes);
  yard.core.observe(observers);
  return { yard, notes };
}

describe("observers", () => {
  test("hear of every attempt, how it ended, and of every outcome", () => {
    const { yard, notes } = watched();
    yard.join("y/w");
    yard.submit();
    yard.done("y/w", 1);
    assert.deepEqual(notes.take(), ["began 1 on y/w of y", "done 1 by y/w (undefined, 0 lost)"]);
    yard.submit({ failures: 2 });
    yard.fail("y/w", 2);
    yard.fail("y/w", 2);
    assert.deepEqual(notes.take(), [
      "began 2 on y/w of y",
      "failed 2 on y/w: broke",
      "began 2 on y/w of y",
      "failed 2 by y/w (broke, 0 lost)",
    ]);
    yard.submit();
    yard.giveBack("y/w", 3, "balance");
    yard.cancel(3);
    assert.deepEqual(notes.take(), [
      "began 3 on y/w of y",
      "returned 3 on y/w: balance",
      "began 3 on y/w of y",
      "cancelled 3 by y/w (cancelled, 0 lost)",
    ]);
  });

  test("hear of a lost worker before its tasks, and of poison as an outcome", () => {
    const { yard, notes } = watched();
    yard.join("w");
    yard.submit({ attempts: 2 });
    yard.leave("w", "silence");
    assert.deepEqual(notes.take(), [
      "began 1 on x/w of x",
      "worker x/w silence with 1",
      "lost 1 on x/w: silence",
    ]);
    yard.join("v");
    yard.leave("v");
    assert.deepEqual(notes.take(), [
      "began 1 on x/v of x",
      "worker x/v connection_closed with 1",
      "failed 1 by x/v (poison, 2 lost)",
    ]);
  });

  test("hear of outcomes that nobody took", () => {
    const { yard, notes } = watched();
    yard.join("w");
    yard.submit({ replyTo: { address: "me", diesWithConnection: true } });
    yard.done("w", 1);
    notes.take();
    yard.post("x", { type: "outcome-undelivered", task: 1 as TaskId, again: false });
    assert.deepEqual(notes.take(), ["undelivered 1"]);
  });
});

describe("a queue's figures", () => {
  test("rates and flows by door, and who paused it", () => {
    const yard = new YardDriver();
    yard.join("y/w", { slots: 100 });
    for (let n = 0; n < 60; n += 1) yard.submit({ door: n < 20 ? "x" : "y" });
    for (let task = 1; task <= 30; task += 1) yard.done("y/w", task);
    for (let task = 31; task <= 36; task += 1) yard.fail("y/w", task);
    const queue = yard.queue();
    assert.deepEqual(queue?.inPerSecond, [6, 1]);
    assert.deepEqual(queue?.donePerSecond, [3, 0.5]);
    assert.deepEqual(queue?.failedPerSecond, [0.6, 0.1]);
    assert.deepEqual(
      Object.entries(queue?.inBy ?? {}).map(([door, rate]) => [door, Math.round(rate * 60)]),
      [
        ["x", 20],
        ["y", 40],
      ],
    );
    assert.deepEqual(queue?.doneBy, { y: 0.5 });
    assert.deepEqual(queue?.workersBy, { y: 1 });
    const { done, failed, donePerMinute } = yard.worker("y/w") ?? {};
    assert.deepEqual([done, failed, donePerMinute], [30, 6, 30]);
    yard.post("x", { type: "queue-order-given", queue: "q", order: "pause", by: "10.0.4.2" });
    yard.pass(1_000);
    yard.post("x", { type: "queue-order-given", queue: "q", order: "pause", by: "another" });
    assert.deepEqual(
      [yard.queue()?.pausedBy, (yard.queue()?.pausedAt ?? 0) - yard.now.wall],
      ["10.0.4.2", -1_000],
    );
    yard.order("resume");
    assert.equal(yard.queue()?.pausedBy, undefined);
  });

  test("a full queue says since when it refuses", () => {
    const yard = new YardDriver({
      queueDefaults: { ...defaultQueueSettings, maxWaiting: 1 },
    });
    yard.submit();
    const since = yard.now.wall;
    for (let n = 0; n < 3; n += 1) {
      yard.submit();
      yard.pass(30_000);
    }
    assert.equal(yard.queue()?.refusingSince, since);
    assert.equal(yard.queue()?.refusedAt, since + 60_000);
    yard.pass(100_000);
    yard.submit();
    assert.equal(yard.queue()?.refusingSince, yard.now.wall);
  });

  test("tallies of queues that were forgotten are handed over once", () => {
    const yard = new YardDriver();
    yard.submit({ queue: "passing" });
    yard.cancel(1);
    const gone = yard.core.takeGoneTallies();
    assert.deepEqual(
      gone.map(({ name, tally }) => [name, tally.submitted.total, tally.cancelled]),
      [["passing", 1, 1]],
    );
    assert.deepEqual(yard.core.takeGoneTallies(), []);
  });
});

describe("a task's outlook", () => {
  const ahead = (yard: YardDriver, task: number) => yard.core.view.outlook(task as TaskId, yard.now).ahead;

  test("says how many go before it while that is few", () => {
    const yard = new YardDriver();
    for (let n = 0; n < 1_000; n += 1) yard.submit();
    yard.submit({ priority: 5 });
    assert.equal(ahead(yard, 1), 1);
    assert.equal(ahead(yard, 999), 999);
    assert.equal(ahead(yard, 1_000), undefined);
    assert.equal(ahead(yard, 1_001), 0);
    yard.submit({ delayMs: 1_000 });
    assert.equal(ahead(yard, 1_002), undefined);
    assert.equal(ahead(yard, 5_000), undefined);
  });

  test("says until when an attempt may run", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.submit({ attemptTimeoutMs: 9_000 });
    yard.want("p", { leaseMs: 5_000 });
    const { leaseUntil, limitAt } = yard.core.view.outlook(1 as TaskId, yard.now);
    assert.deepEqual([leaseUntil, limitAt], [yard.now.wall + 5_000, yard.now.wall + 9_000]);
  });
});

test("a sliding count is exact at a steady rate and empty after a window of nothing", () => {
  const count = new SlidingCount(10_000);
  for (let at = 0; at < 35_000; at += 100) count.add(at as Instant);
  assert.ok(Math.abs(count.count(35_000 as Instant) - 100) <= 1, String(count.count(35_000 as Instant)));
  assert.ok(count.count(45_000 as Instant) < 51);
  assert.equal(count.count(60_000 as Instant), 0);
  count.add(100_000 as Instant);
  assert.equal(count.perSecond(100_000 as Instant), 0.1);
});
