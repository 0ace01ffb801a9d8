// A worker that reported a task as failed, in a dialect that wants another worker to try, does not
// get it again while there is another one.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TaskId } from "./names.js";
import { YardDriver } from "./testing/yard-driver.js";

const reported = { asLoss: true } as const;

/** Task 1 failed at `bad` while `good` was at task 2; both serve the queue with one slot. */
function failedAtBad(): YardDriver {
  const yard = new YardDriver();
  yard.join("bad");
  yard.submit();
  yard.join("good");
  yard.submit();
  assert.deepEqual(yard.fail("bad", 1, reported), []);
  return yard;
}

describe("a task that a worker reported as failed", () => {
  test("waits for the busy worker rather than going back to the idle one that failed it", () => {
    const yard = failedAtBad();
    assert.deepEqual(yard.wait(600_000), []);
    assert.equal(whyOf(yard, 1), "all_busy: It failed on x/bad, and the one other worker is busy.");
    assert.deepEqual(yard.done("good", 2), ["assign 1 to good as 1.3"]);
    assert.deepEqual(yard.done("good", 1), []);
  });

  test("holds up nothing else: the worker that failed it goes on with the next", () => {
    const yard = failedAtBad();
    assert.deepEqual(yard.submit(), ["assign 3 to bad as 1.3"]);
    yard.submit();
    assert.deepEqual(yard.done("bad", 3), ["assign 4 to bad as 1.4"]);
    assert.deepEqual(yard.done("good", 2), ["assign 1 to good as 1.5"]);
  });

  test("goes to a worker that comes", () => {
    const yard = failedAtBad();
    assert.deepEqual(yard.join("new"), ["assign 1 to new as 1.3"]);
  });

  test("goes back to the same one when the last other worker goes, is drained, or was never there", () => {
    for (const end of ["leave", "drain"] as const) {
      const yard = failedAtBad();
      const back = end === "leave" ? yard.leave("good") : yard.drain("good");
      assert.ok(back.includes("assign 1 to bad as 1.3"), `${end}: ${back}`);
    }
    const alone = new YardDriver();
    alone.join("bad");
    alone.submit();
    assert.deepEqual(alone.fail("bad", 1, reported), ["assign 1 to bad as 1.2"]);
  });

  test("goes to none of several that failed it, backoff or not", () => {
    const yard = failedAtBad();
    yard.join("worse");
    assert.deepEqual(yard.fail("worse", 1, reported), []);
    assert.deepEqual(yard.wait(60_000), []);
    assert.deepEqual(yard.done("good", 2), ["assign 1 to good as 1.4"]);
    // All workers failed it, so it is tried on any of them until its attempts are used up.
    yard.fail("good", 1, reported);
    assert.deepEqual(yard.wait(60_000), ["assign 1 to bad as 1.5"]);
  });

  test("does not wait for one that only says it is busy", () => {
    const yard = failedAtBad();
    assert.deepEqual(yard.done("good", 2), ["assign 1 to good as 1.3"]);
    assert.deepEqual(yard.giveBack("good", 1, "busy", 1_000), ["assign 1 to bad as 1.4"]);
  });

  test("is given out in its order after a pause, and what lies behind it too", () => {
    const yard = failedAtBad();
    yard.order("pause");
    yard.submit();
    assert.deepEqual(yard.done("good", 2), []);
    assert.deepEqual(yard.order("resume"), ["assign 1 to good as 1.3", "assign 3 to bad as 1.4"]);
  });

  test("costs a freed worker a bounded search: beyond 64 groups of such tasks a task avoids no worker", () => {
    const yard = new YardDriver();
    const groups = 64;
    yard.join("good");
    yard.submit();
    for (let number = 0; number <= groups; number += 1) {
      yard.join(`bad-${number}`);
      yard.submit();
    }
    yard.order("pause");
    for (let number = 0; number <= groups; number += 1) yard.fail(`bad-${number}`, 2 + number, reported);
    for (let number = 0; number <= groups; number += 1) yard.drain(`bad-${number}`);
    const first = whyOf(yard, 2);
    yard.order("resume");
    assert.match(first, /paused/);
    assert.match(whyOf(yard, 2), /It failed on x\/bad-0, and the one other worker is busy/);
    assert.match(whyOf(yard, 2 + groups - 1), /It failed on x\/bad-63/);
    assert.doesNotMatch(whyOf(yard, 2 + groups), /It failed/);
  });
});

function whyOf(yard: YardDriver, task: number): string {
  const { code, message } = yard.core.view.why(task as TaskId, yard.now) ?? {};
  return `${code}: ${message}`;
}
