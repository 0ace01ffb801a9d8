// Why a task waits: every code, in words and with its end if known, and the sums in a queue's view.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defaultQueueSettings } from "./limits.js";
import type { TaskId } from "./names.js";
import { YardDriver } from "./testing/yard-driver.js";

const why = (yard: YardDriver, task: number) => yard.core.view.why(task as TaskId, yard.now);

describe("why a task waits", () => {
  test("no_worker", () => {
    const yard = new YardDriver();
    yard.join("w", { queues: ["other"] });
    yard.submit();
    const expected = { code: "no_worker", message: "No worker serves queue q.", until: undefined };
    assert.deepEqual(why(yard, 1), expected);
    assert.deepEqual(yard.queue()?.waitingBy, { no_worker: 1 });
  });

  test("all_busy", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.submit();
    const one = { code: "all_busy", message: "The one worker of queue q is busy.", until: undefined };
    assert.deepEqual(why(yard, 2), one);
    yard.joinPuller("p");
    yard.want("p", { queue: "q" });
    yard.submit();
    assert.equal(why(yard, 3)?.message, "Both workers of queue q are busy.");
    assert.deepEqual(yard.queue()?.waitingBy, { all_busy: 1 });
  });

  test("a worker that pulls and is not asking is not busy", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.want("p");
    yard.submit();
    const message = "No worker is asking for tasks of queue q; one that did is idle.";
    assert.deepEqual(why(yard, 1), { code: "no_worker", message, until: undefined });
    assert.deepEqual(yard.queue()?.waitingBy, { no_worker: 1 });
    // A working worker is busy, even if others are idle.
    yard.joinPuller("p2");
    yard.want("p2");
    yard.submit();
    assert.deepEqual(
      [why(yard, 2)?.code, why(yard, 2)?.message],
      ["all_busy", "The one worker of queue q that is asking for tasks is busy; 1 is idle."],
    );
    yard.want("p", { queue: "other" });
    yard.done("p2", 1);
    assert.equal(why(yard, 2)?.message, "No worker is asking for tasks of queue q; 2 that did are idle.");
    // A drained or lost worker is not idle.
    yard.drain("p");
    assert.equal(why(yard, 2)?.message, "No worker is asking for tasks of queue q; one that did is idle.");
    yard.leave("p2");
    assert.equal(why(yard, 2)?.code, "draining");
    yard.leave("p");
    assert.equal(why(yard, 2)?.message, "No worker serves queue q.");
  });

  test("a worker without a slot is not busy with a task of ours", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 0 });
    yard.submit();
    const other = "unavailable, or busy with other work";
    const one = `The one worker of queue q takes no tasks now: it is ${other}.`;
    assert.deepEqual(why(yard, 1), { code: "all_busy", message: one, until: undefined });
    assert.equal(yard.queue()?.unavailable, 1);
    assert.equal(yard.worker("w")?.state, "busy");
    yard.join("v", { slots: 0 });
    assert.equal(why(yard, 1)?.message, `Both workers of queue q take no tasks now: they are ${other}.`);
    yard.join("u", { slots: 1 });
    yard.submit();
    const mixed = `Of the 3 workers of queue q, 1 is busy and 2 take no tasks now: they are ${other}.`;
    assert.equal(why(yard, 2)?.message, mixed);
    // It had a task of ours all along, and has no room for another: it is busy.
    yard.join("u", { slots: 0 });
    assert.equal(why(yard, 2)?.message, mixed);
    yard.drain("w");
    assert.equal(
      why(yard, 2)?.message,
      `Of the 3 workers of queue q, 1 is busy, 1 is draining and 1 takes no tasks now: it is ${other}.`,
    );
    yard.join("v", { slots: 1 });
    assert.equal(why(yard, 2), undefined);
    assert.equal(yard.queue()?.unavailable, 0);
  });

  test("delayed, until then", () => {
    const yard = new YardDriver();
    yard.submit({ delayMs: 5000 });
    yard.wait(1000);
    assert.deepEqual(why(yard, 1), {
      code: "delayed",
      message: "Its client asked for a later start.",
      until: yard.now.wall + 4000,
    });
    assert.deepEqual(yard.queue()?.waitingBy, { delayed: 1 });
  });

  test("backoff, until then", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ failures: 9 });
    yard.fail("w", 1);
    yard.lose("w", 1);
    assert.equal(yard.state(1), "running");
    yard.lose("w", 1);
    assert.deepEqual(why(yard, 1), {
      code: "backoff",
      message: "It waits before its next attempt, after 2 lost attempts and 1 failure.",
      until: yard.now.wall + 1000,
    });
    assert.deepEqual(yard.queue()?.waitingBy, { backoff: 1 });
  });

  test("paused", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.order("pause");
    yard.submit();
    yard.submit({ delayMs: 1000 });
    assert.deepEqual(why(yard, 1), { code: "paused", message: "Queue q is paused.", until: undefined });
    assert.deepEqual(yard.queue()?.waitingBy, { delayed: 1, paused: 1 });
  });

  test("draining: every worker, or the dispatcher itself", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.drain("w");
    yard.submit();
    assert.deepEqual(why(yard, 1), {
      code: "draining",
      message: "Every worker of queue q is being drained.",
      until: undefined,
    });
    yard.post("yard", { type: "yard-closing" });
    assert.equal(why(yard, 1)?.message, "The dispatcher is stopping.");
    assert.deepEqual(yard.queue()?.waitingBy, { draining: 1 });
  });

  test("a draining worker that is gone is no reason any more", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.join("v");
    yard.drain("w");
    yard.leave("w");
    yard.submit();
    yard.submit();
    assert.equal(why(yard, 2)?.code, "all_busy");
  });

  test("recovering, until the time of grace is over", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.restart();
    assert.equal(why(yard, 1)?.code, "recovering");
    assert.equal(why(yard, 1)?.until, yard.now.wall + 10_000);
    assert.deepEqual(yard.queue()?.waitingBy, { recovering: 1 });
  });

  test("does_not_fit", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.giveBack("w", 1, "does_not_fit");
    assert.deepEqual(why(yard, 1), {
      code: "does_not_fit",
      message: "It does not fit the workers of x, and there are no others.",
      until: undefined,
    });
    yard.join("y/v");
    yard.giveBack("y/v", 1, "does_not_fit");
    assert.equal(why(yard, 1)?.message, "It does not fit the workers of x and y, and there are no others.");
    assert.deepEqual(yard.queue()?.waitingBy, { does_not_fit: 1 });
  });

  test("workers that a task does not fit are named beside the others", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.giveBack("w", 1, "does_not_fit");
    const misfit = "It does not fit the workers of x.";
    yard.joinPuller("y/p");
    yard.want("y/p");
    yard.submit();
    yard.giveBack("w", 2, "does_not_fit");
    assert.deepEqual(
      [why(yard, 2)?.code, why(yard, 2)?.message],
      ["all_busy", `${misfit} The one other worker of queue q is busy.`],
    );
    yard.done("y/p", 1);
    assert.deepEqual(
      [why(yard, 2)?.code, why(yard, 2)?.message],
      ["no_worker", `${misfit} No other worker is asking for tasks of queue q; one that did is idle.`],
    );
    yard.join("y/s");
    yard.submit({ priority: -1 });
    yard.giveBack("w", 3, "does_not_fit");
    yard.leave("y/p");
    yard.drain("y/s");
    assert.equal(why(yard, 3)?.message, `${misfit} Every other worker of queue q is being drained.`);
  });

  test("a task that does not wait, or is not here, has no reason", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ replyTo: { address: "me", diesWithConnection: false } });
    assert.equal(why(yard, 1), undefined);
    yard.done("w", 1);
    assert.equal(why(yard, 1), undefined);
    assert.equal(why(yard, 99), undefined);
  });
});

describe("a queue's view", () => {
  test("counts what waits, runs and serves", () => {
    const yard = new YardDriver();
    yard.join("w");
    for (let count = 0; count < 3; count += 1) yard.submit();
    assert.deepEqual(yard.queue(), {
      name: "q",
      label: "q",
      waiting: 2,
      waitingBytes: 20,
      running: 1,
      depended: 0,
      oldestAt: yard.now.wall,
      oldestTask: 2,
      workers: 1,
      workersBy: { x: 1 },
      unavailable: 0,
      paused: false,
      draining: false,
      waitingBy: { all_busy: 2 },
      inPerSecond: [0.3, 0.05],
      donePerSecond: [0, 0],
      failedPerSecond: [0, 0],
      inBy: { x: 0.05 },
      doneBy: {},
      pausedAt: undefined,
      pausedBy: undefined,
      refusedAt: undefined,
      refusingSince: undefined,
      maxWaiting: 1_000_000,
      groups: 0,
      settings: defaultQueueSettings,
      overridden: [],
    });
  });
});
