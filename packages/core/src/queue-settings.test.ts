// Settings given while the dispatcher runs: which value is in force, and that it survives.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { QueueSettingsPatch } from "./events.js";
import { defaultQueueSettings } from "./limits.js";
import { coreMemoDoor } from "./records.js";
import { YardDriver } from "./testing/yard-driver.js";

const configured = { ...defaultQueueSettings, attempts: 7, maxRunning: 5 };

describe("settings of a queue", () => {
  test("a setting that is given overrides the configuration until it is reset", () => {
    const yard = new YardDriver({ queues: new Map([["q", configured]]) });
    assert.equal(yard.core.view.queue("q")?.settings.maxRunning, 5);
    assert.deepEqual(yard.set({ maxRunning: 2, failures: 4 }, 1), ["reply 1 granted"]);
    assert.deepEqual(yard.queue()?.overridden, ["maxRunning", "failures"]);
    assert.deepEqual(yard.queue()?.settings, { ...configured, maxRunning: 2, failures: 4 });
    yard.submit();
    assert.deepEqual(yard.stored(1).head.policy.failures, 4);
    yard.set({ maxRunning: null });
    assert.deepEqual(yard.queue()?.overridden, ["failures"]);
    assert.equal(yard.queue()?.settings.maxRunning, 5);
    yard.set({ failures: null });
    assert.deepEqual(yard.queue()?.overridden, []);
    assert.equal(yard.store.memos.size, 0);
  });

  test("they survive a restart, and a configuration that changed meanwhile does not win", () => {
    const yard = new YardDriver({ queues: new Map([["q", configured]]) });
    yard.set({ maxRunning: 2 });
    const after = new YardDriver(
      { queues: new Map([["q", { ...configured, maxRunning: 9, attempts: 1 }]]) },
      yard.store,
      2,
    );
    assert.deepEqual(after.queue()?.settings, { ...configured, maxRunning: 2, attempts: 1 });
  });

  test("a queue with settings of its own is not forgotten, and is when they are reset", () => {
    const yard = new YardDriver();
    yard.set({ maxRunning: 2 });
    yard.restart();
    assert.equal(yard.queue()?.settings.maxRunning, 2);
    yard.set({ maxRunning: null });
    assert.equal(yard.queue(), undefined);
  });

  test("a queue that is not there is refused if it has to exist", () => {
    const yard = new YardDriver();
    const event = { type: "queue-settings-given", queue: "q", settings: { maxRunning: 1 } } as const;
    assert.deepEqual(yard.post("x", { ...event, request: 1, mustExist: true }), [
      "reply 1 refused not_found",
    ]);
    assert.deepEqual(yard.post("x", { ...event, queue: "no name!", request: 2 }), [
      "reply 2 refused bad_request",
    ]);
  });

  test("senseless values are refused and change nothing", () => {
    const yard = new YardDriver();
    const backoff = { atOnce: 0, firstMs: 1, factor: 2, maxMs: 3, jitter: 0 };
    const bad: readonly QueueSettingsPatch[] = [
      { maxRunning: 0 },
      { maxRunning: -1 },
      { maxRunning: 1.5 },
      { maxRunning: Number.POSITIVE_INFINITY },
      { maxRunning: Number.NaN },
      { maxRunningPerGroup: 0 },
      { attempts: 0 },
      { attemptTimeoutMs: -1 },
      { rate: { tasks: 0, perMs: 1 } },
      { rate: { tasks: 1, perMs: 0 } },
      { rate: 5 as never },
      { backoff: { ...backoff, factor: 0.5 } },
      { backoff: { ...backoff, jitter: 2 } },
      { backoff: { ...backoff, maxMs: Number.POSITIVE_INFINITY } },
      { constructor: 5 } as never,
    ];
    for (const settings of bad)
      assert.deepEqual(yard.set(settings, 1), ["reply 1 refused bad_request"], JSON.stringify(settings));
    assert.equal(yard.queue(), undefined);
    assert.equal(yard.store.memos.size, 0);
  });

  test("a memo that cannot be read, or only in part, does not stop the start", () => {
    const yard = new YardDriver();
    const memo = (name: string, text: string) =>
      yard.store.memos.set(name, { door: coreMemoDoor, name, bytes: new TextEncoder().encode(text) });
    memo("settings/q", '{"maxRunning":3,"attempts":-1,"ofTomorrow":{}}');
    memo("settings/r", "not JSON");
    memo("settings/s", "null");
    memo("rate/q", "soon");
    memo("of-tomorrow/q", "1");
    yard.restart();
    assert.deepEqual(yard.queue()?.overridden, ["maxRunning"]);
    assert.equal(yard.queue("r"), undefined);
  });
});
