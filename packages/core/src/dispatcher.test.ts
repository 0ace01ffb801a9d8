// The core's entrance: numbered posts, time, and stopping.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AttemptRef } from "./attempt-events.js";
import { Dispatcher } from "./dispatcher.js";
import type { TaskId, WorkerId } from "./names.js";
import { bodyOf, wallAtStart, YardDriver } from "./testing/yard-driver.js";
import type { WallTime } from "./time.js";

const hourMs = 3_600_000;

describe("numbered posts", () => {
  const submitted = { type: "task-submitted", submission: { queue: "q", payload: bodyOf(1) } } as const;

  test("a repeated one is dropped and counted", () => {
    const yard = new YardDriver();
    yard.submit();
    assert.deepEqual(yard.postNumbered("x", 2, { ...submitted, request: 1 }), []);
    assert.deepEqual(yard.postNumbered("x", 1, { type: "door-opened", incarnation: 1 }), []);
    assert.equal(yard.core.counters.repeatedPosts.of("x"), 2);
    assert.equal(yard.store.tasks.size, 1);
    assert.deepEqual(yard.postNumbered("x", 3, { ...submitted, request: 2 }), ["reply 2 accepted 2"]);
  });

  test("each door has numbers of its own, and its mark is committed", () => {
    const yard = new YardDriver();
    yard.submit();
    yard.submit({ door: "y" });
    assert.deepEqual(
      [...yard.store.doors.values()],
      [
        { name: "x", incarnation: 1, mark: 2 },
        { name: "y", incarnation: 1, mark: 2 },
      ],
    );
  });

  test("a mark survives a restart: what was committed is not taken twice", () => {
    const yard = new YardDriver();
    yard.submit();
    yard.restart();
    assert.deepEqual(yard.postNumbered("x", 2, { ...submitted, request: 1 }), []);
    assert.deepEqual(yard.postNumbered("x", 3, { ...submitted, request: 2 }), ["reply 2 accepted 2"]);
  });

  test("a gap loses the door's peers, each task once, and then the post is taken in", () => {
    const yard = new YardDriver();
    for (const name of ["a", "b", "c"]) yard.join(name);
    yard.joinPuller("p");
    yard.submit();
    yard.submit({ door: "z" });
    yard.want("p", { queue: "r", request: 5, forMs: 1000 });
    yard.join("y/other");
    yard.postNumbered("x", 20, { ...submitted, request: 1 });
    assert.deepEqual(
      yard.core.view.workers().map(({ id, state }) => `${id} ${state}`),
      ["y/other busy", "x/a lost", "x/b lost", "x/c lost", "x/p lost"],
    );
    assert.deepEqual(yard.effects.filter(({ type }) => type === "assign").length, 1);
    assert.equal(yard.core.counters.lostAttempts.of("x", "door_lost"), 2);
    assert.deepEqual(
      [1, 2].map((task) => [yard.state(task), yard.stored(task).progress?.losses]),
      [
        ["running", 1],
        ["waiting", 1],
      ],
    );
    assert.equal(yard.state(3), "waiting");
  });

  test("an answer after a gap is that of a lost worker", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    const attempt = yard.attempts.get(1);
    yard.postNumbered("x", 9, {
      type: "attempt-done",
      worker: "x/w" as WorkerId,
      task: 1 as TaskId,
      attempt,
      result: bodyOf(1),
      request: 1,
    });
    assert.equal(yard.state(1), "waiting");
  });

  test("a new incarnation loses the peers of the one before, and answers none of its requests", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.joinPuller("p");
    yard.submit();
    yard.submit({ queue: "r" });
    yard.want("p", { request: 1, forMs: 1000 });
    yard.post("x", { type: "task-watched", request: 2, task: 1 as TaskId, forMs: 1000 });
    assert.deepEqual(yard.postNumbered("x", 1, { type: "door-opened", incarnation: 7 }), []);
    assert.equal(yard.state(1), "waiting");
    assert.deepEqual(yard.wait(5000), []);
    assert.deepEqual(yard.post("x", { type: "worker-beat", worker: "x/w" as WorkerId }), []);
    assert.equal(yard.core.counters.senseless.of("x", "worker-beat"), 1);
  });
});

describe("time", () => {
  test("early and repeated timeouts do nothing", () => {
    const yard = new YardDriver();
    yard.submit({ delayMs: 1000, waitingMsMax: 500 });
    yard.joinPuller("p");
    yard.want("p", { forMs: 2000, request: 1 });
    for (let count = 0; count < 3; count += 1) {
      assert.deepEqual(yard.timeout(), []);
      assert.deepEqual(yard.changes, []);
    }
    yard.pass(1000);
    assert.deepEqual(yard.timeout(), ["assign 1 to p as 1.1 for 5000 on 1", "reply 1 granted"]);
    assert.deepEqual(yard.timeout(), []);
    assert.deepEqual(yard.changes, []);
  });

  test("the next deadline is the earliest of all, and moves when that one is gone", () => {
    const yard = new YardDriver({ graceMs: 100 });
    assert.equal(yard.nextMs, 100);
    yard.wait(100);
    assert.equal(yard.nextMs, undefined);
    yard.submit({ delayMs: 3000 });
    assert.equal(yard.nextMs, 3000);
    yard.submit({ waitingMsMax: 2000 });
    assert.equal(yard.nextMs, 2000);
    yard.submit({ expiresAt: (wallAtStart + 1100) as WallTime });
    assert.equal(yard.nextMs, 1000);
    yard.cancel(3);
    assert.ok((yard.nextMs ?? 0) >= 2000);
    yard.joinPuller("p");
    yard.want("p", { leaseMs: 1500 });
    assert.equal(yard.nextMs, 1500);
    yard.done("p", 2);
    assert.equal(yard.nextMs, 3000);
  });

  test("each deadline is handled once, and none that is past is left", () => {
    const yard = new YardDriver({ graceMs: 100, balanceMs: 50 });
    yard.join("w", { slots: 4, runsAtOnce: 1, givesBack: true });
    for (let count = 0; count < 4; count += 1) yard.submit({ attemptTimeoutMs: 300 + count, attempts: 2 });
    yard.join("v", { slots: 4, runsAtOnce: 1, givesBack: true });
    for (let count = 0; count < 100 && yard.nextMs !== undefined; count += 1) {
      assert.ok(yard.nextMs > 0, `a deadline ${-yard.nextMs} ms ago is still there`);
      yard.pass(yard.nextMs);
      yard.timeout();
    }
  });

  for (const jump of [hourMs, -hourMs]) {
    test(`a wall clock that jumps by ${jump / hourMs} h changes no deadline`, () => {
      const yard = new YardDriver();
      yard.joinPuller("p");
      yard.submit({ queue: "lease" });
      yard.want("p", { queue: "lease", leaseMs: 1000 });
      yard.submit({ delayMs: 2000 });
      yard.submit({ expiresAt: (wallAtStart + 3000) as WallTime, queue: "expiry" });
      yard.submit({ waitingMsMax: 4000, queue: "waiting" });
      yard.submit({ key: "k", queue: "key", replyTo: { address: "me", diesWithConnection: false } });
      yard.cancel(5);
      yard.jumpWall(jump);
      assert.deepEqual(yard.wait(999), []);
      assert.deepEqual(yard.wait(1), ["revoke 1 from p as 1.1: lease_over"]);
      yard.wait(999);
      assert.equal(yard.why(2), "delayed");
      yard.wait(1);
      assert.equal(yard.why(2), "no_worker");
      yard.wait(999);
      assert.equal(yard.state(3), "waiting");
      yard.wait(1);
      assert.equal(yard.state(3), "expired");
      yard.wait(999);
      assert.equal(yard.state(4), "waiting");
      yard.wait(1);
      assert.equal(yard.state(4), "expired");
      yard.wait(hourMs - 4001);
      assert.equal(yard.stored(5).progress?.settled, 0);
      yard.wait(1);
      assert.notEqual(yard.stored(5).progress?.settled, 0);
      yard.wait(23 * hourMs - 1);
      assert.deepEqual(yard.submit({ key: "k", queue: "key", request: 1 }), ["reply 1 existing 5"]);
      yard.wait(1);
      assert.deepEqual(yard.submit({ key: "k", queue: "key", request: 2 }), ["reply 2 accepted 6"]);
    });

    test(`a wall clock that jumps by ${jump / hourMs} h while the dispatcher is down makes nothing wait longer`, () => {
      const yard = new YardDriver();
      yard.join("w");
      yard.submit({ key: "k", replyTo: { address: "me", diesWithConnection: false } });
      yard.done("w", 1);
      yard.submit();
      yard.submit({ delayMs: 20_000 });
      yard.lose("w", 2);
      yard.lose("w", 2);
      yard.jumpWall(jump);
      yard.restart();
      yard.wait(72_000);
      assert.notEqual(yard.why(2), "backoff");
      assert.notEqual(yard.why(3), "delayed");
      yard.wait(hourMs - 72_000);
      assert.notEqual(yard.stored(1).progress?.settled, 0);
      yard.wait(23 * hourMs);
      assert.equal(yard.store.keys.size, 0);
    });
  }
});

describe("stopping", () => {
  const close = (yard: YardDriver, type: "yard-closing" | "yard-closed") => yard.post("yard", { type });

  test("closing: nothing is accepted or given out, waiting requests end, what runs may finish", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.joinPuller("p");
    yard.submit();
    yard.want("p", { request: 1, forMs: 1000 });
    assert.deepEqual(close(yard, "yard-closing"), ["reply 1 no-work"]);
    assert.deepEqual(yard.submit({ request: 2 }), ["reply 2 refused not_ready"]);
    assert.deepEqual(yard.want("p", { request: 3 }), ["reply 3 refused not_ready"]);
    assert.deepEqual(yard.lose("w", 1), []);
    assert.equal(yard.why(1), "draining");
    assert.deepEqual(yard.join("v"), []);
  });

  test("closing: a task whose client asks only once is accepted, and given out after the restart", () => {
    const yard = new YardDriver();
    yard.join("w");
    close(yard, "yard-closing");
    assert.deepEqual(yard.submit({ request: 1, isAskedOnce: true }), ["reply 1 accepted 1"]);
    assert.equal(yard.why(1), "draining");
  });

  test("closing: an answer still counts", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.submit();
    close(yard, "yard-closing");
    assert.deepEqual(yard.done("w", 1, { request: 1 }), ["reply 1 granted 1"]);
    assert.equal(yard.state(1), "done");
    assert.equal(yard.core.running, 0);
  });

  test("closed: a task still at a worker comes back without costing a try, and is given out after the start", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 2 });
    for (let count = 0; count < 3; count += 1) yard.submit({ attempts: 1 });
    close(yard, "yard-closing");
    assert.deepEqual(close(yard, "yard-closed"), []);
    assert.equal(yard.core.running, 0);
    assert.equal(yard.core.counters.returnedAttempts.of("x", "drain"), 2);
    assert.deepEqual(
      [1, 2].map((task) => [yard.state(task), yard.stored(task).progress?.losses]),
      [
        ["waiting", 0],
        ["waiting", 0],
      ],
    );
    yard.restart();
    assert.deepEqual(yard.join("w", { slots: 3 }), [
      "assign 1 to w as 2.1",
      "assign 2 to w as 2.2",
      "assign 3 to w as 2.3",
    ]);
  });

  test("closed: if workers are asked after the start what they hold, their tasks stay with them", () => {
    const yard = new YardDriver();
    yard.post("x", { type: "door-opened", incarnation: 1, resumes: true });
    yard.join("w");
    yard.submit({ attempts: 1 });
    close(yard, "yard-closed");
    assert.equal(yard.stored(1).progress?.state, "running");
    yard.restart();
    assert.deepEqual(yard.join("v"), []);
    yard.join("w", { slots: 0 });
    const ref = { worker: "x/w", task: 1, attempt: undefined } as never as AttemptRef;
    assert.deepEqual(yard.post("x", { type: "attempt-beat", request: 7, ...ref }), ["reply 7 beat 0"]);
    assert.equal(yard.state(1), "running");
  });

  test("closed: an answer that has arrived and is being stored still counts", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 2 });
    yard.submit();
    yard.submit();
    const ref = { worker: "x/w", task: 1, attempt: undefined } as never as AttemptRef;
    assert.ok(yard.core.expectAnswer(ref));
    close(yard, "yard-closed");
    assert.equal(yard.state(2), "waiting");
    assert.deepEqual(yard.done("w", 1, { request: 1 }), ["reply 1 granted 1"]);
    assert.equal(yard.state(1), "done");
  });

  test("closed: a revoked lease stays revoked", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.cancel(1);
    close(yard, "yard-closed");
    assert.equal(yard.state(1), "cancelled");
  });
});

describe("restoring", () => {
  test("is over once the core has begun", () => {
    const yard = new YardDriver();
    yard.submit();
    const core: Dispatcher = yard.core;
    assert.throws(() => core.recovery.task(yard.stored(1)), /has begun/);
    assert.ok(core instanceof Dispatcher);
  });
});
