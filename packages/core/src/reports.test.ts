// Progress reports: the latest is kept, and recorded at most once a second.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { YardDriver } from "./testing/yard-driver.js";

function running(): YardDriver {
  const yard = new YardDriver();
  yard.joinPuller("w");
  yard.submit();
  yard.want("w", { leaseMs: 600_000 });
  return yard;
}

function report(yard: YardDriver, value: string, message?: string): string[] {
  return yard.post("x", {
    type: "attempt-beat",
    worker: "x/w" as never,
    task: 1 as never,
    attempt: yard.attempts.get(1),
    report: { value, message },
  });
}

function recorded(yard: YardDriver): string | undefined {
  return yard.stored(1).progress?.report?.value;
}

describe("progress reports", () => {
  test("the first is recorded at once, with its message and time", () => {
    const yard = running();
    report(yard, "0.25", "a quarter");
    assert.deepEqual(yard.stored(1).progress?.report, {
      value: "0.25",
      message: "a quarter",
      at: yard.now.wall,
    });
    assert.equal(yard.core.counters.reports.of("x"), 1);
  });

  test("a flood is one record a second, and the last of it is not lost", () => {
    const yard = running();
    let records = 0;
    for (let at = 1; at <= 1000; at++) {
      report(yard, `${at / 1000}`);
      records += yard.changes.filter(({ kind }) => kind === "progress").length;
      yard.pass(1);
    }
    assert.equal(records, 1);
    assert.equal(recorded(yard), "0.001");
    assert.equal(yard.core.view.liveTask(1 as never)?.progress?.report?.value, "1");
    yard.wait(1000);
    assert.equal(recorded(yard), "1");
    assert.equal(yard.nextMs !== undefined && yard.nextMs > 1000, true, "nothing is armed for no news");
  });

  test("the last report is recorded with the outcome, and stays", () => {
    const yard = running();
    report(yard, "0.1");
    report(yard, "0.9");
    yard.done("w", 1);
    assert.equal(recorded(yard), "0.9");
    yard.wait(5000);
    assert.equal(recorded(yard), "0.9");
  });

  test("the report of a lost attempt stays until the next attempt begins", () => {
    const yard = running();
    report(yard, "0.7");
    yard.lose("w", 1);
    assert.equal(recorded(yard), "0.7");
    yard.want("w");
    assert.equal(yard.core.view.liveTask(1 as never)?.progress?.report, undefined);
  });

  test("a worker that resumes its attempt after a restart keeps the report", () => {
    const yard = running();
    report(yard, "0.5");
    yard.restart();
    assert.equal(yard.core.view.liveTask(1 as never)?.progress?.report?.value, "0.5");
    yard.joinPuller("w");
    yard.beat("w", 1, 5000);
    assert.equal(yard.core.view.liveTask(1 as never)?.progress?.report?.value, "0.5");
    yard.wait(1000);
    report(yard, "0.6");
    assert.equal(recorded(yard), "0.6");
  });

  test("a report of an attempt without the lease changes nothing", () => {
    const yard = running();
    yard.cancel(1);
    report(yard, "0.5");
    assert.equal(recorded(yard), undefined);
    yard.wait(10_000);
  });

  test("one that is too long is dropped and counted", () => {
    const yard = running();
    report(yard, `"${"x".repeat(5000)}"`);
    assert.equal(recorded(yard), undefined);
    assert.equal(yard.core.counters.limitsReached.of("reportLength"), 1);
  });

  test("a failure keeps its detail, up to a limit", () => {
    const yard = running();
    yard.post("x", {
      type: "attempt-failed",
      worker: "x/w" as never,
      task: 1 as never,
      attempt: yard.attempts.get(1),
      error: { code: "broke", message: "m".repeat(5000), detail: "d".repeat(50_000) },
    });
    const error = yard.stored(1).progress?.error;
    assert.equal(error?.message.length, 1024);
    assert.equal(error?.detail?.length, 16_384);
  });
});
