// Answers from peers that hold no lease, and tasks found by their keys.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { YardDriver } from "./testing/yard-driver.js";

const replyTo = { address: "me", diesWithConnection: false };
const error = { code: "500", message: "no" };

describe("a task is known by its key", () => {
  test("while it lives, and as finished until its key is forgotten", () => {
    const yard = new YardDriver({ keyTtlMs: 1_000 });
    assert.deepEqual(yard.seek("k", 1), ["reply 1 refused not_found"]);
    yard.submit({ key: "k" });
    assert.deepEqual(yard.seek("k", 2), ["reply 2 granted 1"]);
    assert.deepEqual(yard.seek("k", 3, "elsewhere"), ["reply 3 refused not_found"]);
    yard.restart();
    assert.deepEqual(yard.seek("k", 4), ["reply 4 granted 1"]);
    yard.cancel(1);
    assert.deepEqual(yard.seek("k", 5), ["reply 5 refused wrong_state"]);
    yard.wait(1_000);
    assert.deepEqual(yard.seek("k", 6), ["reply 6 refused not_found"]);
  });
});

describe("an answer without a lease", () => {
  test("ends a waiting task, once", () => {
    const yard = new YardDriver();
    yard.submit({ replyTo });
    assert.deepEqual(yard.answer(1, 1), ["tell 1 done 3 bytes", "reply 1 granted 1"]);
    assert.deepEqual(yard.answer(1, 2), ["reply 2 refused wrong_state"]);
    assert.deepEqual(yard.answer(7, 3), ["reply 3 refused not_found"]);
    yard.join("w");
    assert.deepEqual(yard.story(1), ["waiting submitted", "done done by another"]);
  });

  test("takes a running task off its worker, whose slot stays taken until it answers", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.submit();
    assert.deepEqual(yard.answer(1, 1), ["revoke 1 from w as 1.1: answered", "reply 1 granted 1"]);
    assert.equal(yard.state(1), "done");
    assert.equal(yard.state(2), "waiting");
    assert.deepEqual(yard.done("w", 1), ["assign 2 to w as 1.2"]);
    assert.equal(yard.core.counters.staleResults.of("x"), 1);
  });

  test("fails it as often as its failures allow", () => {
    const yard = new YardDriver();
    yard.submit({ failures: 2, replyTo });
    assert.deepEqual(yard.answer(1, 1, error), ["reply 1 granted 1"]);
    assert.equal(yard.state(1), "waiting");
    assert.deepEqual(yard.answer(1, 2, error), ["tell 1 failed 500", "reply 2 granted 1"]);
    assert.equal(yard.state(1), "failed");
  });

  test("counts for a task that waits for its worker after a restart", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.pass(1);
    yard.beatWorker("w");
    yard.restart();
    assert.deepEqual(yard.answer(1, 1), ["reply 1 granted 1"]);
    assert.equal(yard.state(1), "done");
  });
});
