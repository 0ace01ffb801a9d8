// Schedules: when they run, how they behave after a crash, a pause, a stall or a jump of the clock,
// and that no time runs twice.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defaultQueueSettings } from "./limits.js";
import type { Change } from "./records.js";
import type { ScheduleSettings } from "./schedule.js";
import { bodyOf, type DriverOptions, wallAtStart, YardDriver } from "./testing/yard-driver.js";
import type { WallTime } from "./time.js";

const minute = 60_000;

function settings(fields: Partial<ScheduleSettings> = {}): ScheduleSettings {
  return {
    queue: "q",
    payload: bodyOf(3),
    timing: { everyMs: minute },
    overlap: "queue",
    catchUp: "one",
    jitterMs: 0,
    ...fields,
  };
}

/** Stands for a cron library: "minute M" fires at minute M of every hour. */
function nextCron(cron: string, _timezone: string, after: WallTime): WallTime | undefined {
  const wanted = Number(cron.split(" ")[1]);
  if (Number.isNaN(wanted)) return undefined;
  let time = Math.floor(after / minute) * minute + minute;
  while (new Date(time).getUTCMinutes() !== wanted) time += minute;
  return time as WallTime;
}

function driver(options: DriverOptions = {}): YardDriver {
  return new YardDriver({ nextCron, ...options });
}

function put(yard: YardDriver, fields: Partial<ScheduleSettings> = {}, name = "s"): string[] {
  return yard.post("http", { type: "schedule-put", request: 1, name, settings: settings(fields) });
}

function order(yard: YardDriver, what: "pause" | "resume" | "run-now", name = "s"): string[] {
  return yard.post("http", { type: "schedule-ordered", request: 2, name, order: what });
}

/** The times of the runs so far, in minutes since the start of the test, by their keys. */
function runs(yard: YardDriver): number[] {
  const keys = [...yard.store.tasks.values()].map(({ head }) => head.key ?? "");
  return keys
    .filter((key) => key.startsWith("schedule:"))
    .map((key) => (Date.parse(key.replace(/^schedule:[^:]*:/, "")) - wallAtStart) / minute);
}

function view(yard: YardDriver, name = "s") {
  return yard.core.view.schedules().find((schedule) => schedule.name === name);
}

/** Runs and finishes all waiting tasks. */
function finishAll(yard: YardDriver): void {
  yard.join("w", { slots: 1000, runsAtOnce: 1000 });
  for (const [task] of yard.attempts) yard.done("w", task);
  yard.leave("w");
}

describe("a schedule", () => {
  test("runs at its times, with the payload and options of its settings", () => {
    const yard = driver();
    put(yard, { priority: 7, attempts: 2, expiresMs: 5000 });
    yard.wait(3 * minute + 1);
    assert.deepEqual(runs(yard), [1, 2, 3]);
    const [task] = yard.store.tasks.values();
    assert.equal(task?.head.priority, 7);
    assert.equal(task?.head.policy.attempts, 2);
    assert.equal(task?.head.expiresAt, wallAtStart + minute + 5000);
    assert.equal(task?.head.payload.size, 3);
    assert.equal(task?.head.door, "schedule");
    assert.equal(view(yard)?.nextAt, wallAtStart + 4 * minute);
  });

  test("a cron expression is evaluated outside, from start to end", () => {
    const yard = driver();
    const startAt = (wallAtStart + 2 * 60 * minute) as WallTime;
    const endAt = (wallAtStart + 4 * 60 * minute) as WallTime;
    put(yard, { timing: { cron: "minute 20", timezone: "UTC" }, startAt, endAt });
    yard.wait(10 * 60 * minute);
    const minutes = runs(yard);
    assert.equal(minutes.length, 2);
    for (const each of minutes) assert.ok(each >= 120 && each <= 240, String(each));
    assert.equal(view(yard)?.nextAt, undefined);
  });

  test("a run and the next time are committed together", () => {
    const yard = driver();
    put(yard);
    const steps: Change[][] = [];
    yard.pass(minute);
    yard.timeout();
    steps.push(yard.changes);
    const kinds = steps.flat().map(({ kind }) => kind);
    assert.deepEqual(kinds.sort(), ["head", "memo"]);
  });

  test("overlap: skip lets a time pass while the last task has not finished", () => {
    const yard = driver();
    put(yard, { overlap: "skip" });
    yard.wait(3 * minute);
    assert.deepEqual(runs(yard), [1]);
    assert.equal(view(yard)?.lastSkippedAt, wallAtStart + 3 * minute);
    finishAll(yard);
    yard.wait(minute);
    assert.deepEqual(runs(yard), [1, 4]);
    assert.equal(yard.core.counters.scheduleRuns.of("skipped"), 2);
  });

  test("times of a pause do not run, and it stays paused over a restart", () => {
    const yard = driver();
    put(yard);
    assert.deepEqual(order(yard, "pause"), ["http: reply 2 granted"]);
    yard.wait(5 * minute);
    yard.restart();
    yard.wait(minute);
    assert.deepEqual(runs(yard), []);
    order(yard, "resume");
    yard.wait(minute);
    assert.deepEqual(runs(yard), [7]);
  });

  test("run-now submits at once, whatever overlap says, and moves nothing", () => {
    const yard = driver();
    put(yard, { overlap: "skip" });
    yard.wait(minute);
    assert.match(order(yard, "run-now").join("\n"), /granted/);
    assert.equal(yard.store.tasks.size, 2);
    assert.equal(view(yard)?.nextAt, wallAtStart + 2 * minute);
    assert.equal(view(yard)?.lastTask, 2);
  });

  test("a full queue delays a run and loses none", () => {
    const yard = driver({
      queueDefaults: { ...defaultQueueSettings, maxWaiting: 1 },
    });
    yard.submit();
    put(yard);
    yard.wait(minute + 10_000);
    assert.deepEqual(runs(yard), []);
    assert.match(view(yard)?.trouble ?? "", /holds 1 waiting/);
    finishAll(yard);
    yard.wait(2_000);
    assert.deepEqual(runs(yard), [1]);
    assert.equal(view(yard)?.trouble, undefined);
  });

  test("jitter delays a run and not the times after it", () => {
    const yard = driver({ random: () => 0.5 });
    put(yard, { jitterMs: 20_000 });
    yard.wait(minute + 9_999);
    assert.deepEqual(runs(yard), []);
    yard.wait(1);
    assert.deepEqual(runs(yard), [1]);
    yard.wait(minute);
    assert.deepEqual(runs(yard), [1, 2]);
  });
});

describe("after times that nobody kept", () => {
  for (const [catchUp, expected] of [
    ["one", [1, 6]],
    ["none", [6]],
  ] as const) {
    test(`a restart with catchUp ${catchUp}`, () => {
      const yard = driver();
      put(yard, { catchUp });
      yard.pass(5 * minute + 1);
      yard.restart();
      yard.wait(minute);
      assert.deepEqual(runs(yard), expected);
    });

    test(`a stall with catchUp ${catchUp}`, () => {
      const yard = driver();
      put(yard, { catchUp });
      yard.pass(5 * minute + 1);
      yard.timeout();
      yard.wait(minute);
      assert.deepEqual(runs(yard), expected);
    });
  }

  test("a crash right after a run does not run it again, and one right before it does", () => {
    const yard = driver();
    put(yard);
    yard.wait(minute);
    yard.restart();
    yard.wait(1000);
    assert.deepEqual(runs(yard), [1]);
    const before = yard.store.copy();
    yard.wait(minute);
    yard.store = before;
    yard.restart();
    yard.wait(1000);
    assert.deepEqual(runs(yard), [1, 2]);
  });

  test("a clock that is set back repeats nothing; one that is set forward runs within a minute", () => {
    const yard = driver();
    put(yard);
    yard.wait(2 * minute);
    yard.jumpWall(-2 * minute);
    yard.wait(2 * minute);
    assert.deepEqual(runs(yard), [1, 2]);
    yard.jumpWall(30 * minute);
    yard.wait(minute);
    assert.deepEqual(runs(yard), [1, 2, 3]);
    assert.equal(view(yard)?.nextAt, wallAtStart + 34 * minute);
  });

  test("while the dispatcher stops nothing runs, and the next start catches up", () => {
    const yard = driver();
    put(yard);
    yard.post("yard", { type: "yard-closing" });
    yard.wait(minute);
    assert.deepEqual(runs(yard), []);
    yard.restart();
    yard.wait(0);
    assert.deepEqual(runs(yard), [1]);
  });
});

describe("what is refused", () => {
  test("a schedule that would never run, one of too many, too large a payload, a bad name", () => {
    const yard = driver({ limits: { schedules: 1 } });
    assert.match(put(yard, { timing: { cron: "never", timezone: "UTC" } }).join(), /bad_request/);
    assert.match(put(yard, { endAt: wallAtStart as WallTime }).join(), /bad_request/);
    assert.match(put(yard, { payload: bodyOf(65_537) }).join(), /payload_too_large/);
    assert.equal(yard.core.counters.limitsReached.of("schedulePayloadBytes"), 1);
    assert.match(put(yard, {}, "no name").join(), /bad_request/);
    assert.match(put(yard, { queue: "no queue" }).join(), /bad_request/);
    assert.match(put(yard).join(), /granted/);
    assert.match(put(yard, {}, "other").join(), /queue_full/);
    assert.match(put(yard, { priority: 3 }).join(), /granted/);
    assert.match(order(yard, "pause", "unknown").join(), /not_found/);
    assert.match(yard.post("http", { type: "schedule-dropped", request: 3, name: "s" }).join(), /granted/);
    assert.match(yard.post("http", { type: "schedule-dropped", request: 3, name: "s" }).join(), /not_found/);
    yard.restart();
    assert.equal(yard.core.view.schedules().length, 0);
  });

  test("a schedule of the configuration is read-only, and keeps its times over a restart", () => {
    const yard = driver({ schedules: new Map([["s", settings()]]) });
    assert.match(put(yard).join(), /read_only/);
    assert.match(yard.post("http", { type: "schedule-dropped", request: 3, name: "s" }).join(), /read_only/);
    yard.pass(90_000);
    yard.restart();
    yard.wait(30_001);
    assert.deepEqual(runs(yard), [1, 2]);
    order(yard, "pause");
    yard.restart();
    assert.equal(view(yard)?.paused, true);
  });

  test("one that the configuration no longer has is gone", () => {
    const yard = driver({ schedules: new Map([["s", settings()]]) });
    const later = new YardDriver({ nextCron }, yard.store, 2);
    assert.deepEqual(later.core.view.schedules(), []);
    assert.equal(later.store.memos.size, 0);
  });
});
