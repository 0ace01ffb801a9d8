// Limits of a queue: how many tasks run at once, how many start per time, and how retries wait.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defaultQueueSettings, type QueueSettings } from "./limits.js";
import type { AttemptNumber, TaskId } from "./names.js";
import { coreMemoDoor } from "./records.js";
import { wallAtStart, YardDriver } from "./testing/yard-driver.js";

function yardWith(settings: Partial<QueueSettings>, queues?: Map<string, QueueSettings>): YardDriver {
  const queueDefaults = { ...defaultQueueSettings, ...settings };
  return new YardDriver({ queueDefaults, ...(queues && { queues }) });
}

const assigned = (effects: readonly string[]) => effects.filter((effect) => effect.startsWith("assign"));

describe("maxRunning", () => {
  test("the tasks beyond it wait, and why says which limit", () => {
    const yard = yardWith({ maxRunning: 2 });
    yard.join("w", { slots: 5, runsAtOnce: 5 });
    for (let count = 0; count < 4; count += 1) yard.submit();
    assert.equal(yard.queue()?.running, 2);
    assert.deepEqual(yard.core.view.why(3 as TaskId, yard.now), {
      code: "limited",
      message: "Queue q runs 2 tasks, and its maxRunning is 2. The next starts when one ends.",
      until: undefined,
    });
    assert.deepEqual(yard.queue()?.waitingBy, { limited: 2 });
  });

  test("an end of any kind frees it, for any worker", () => {
    const ends: readonly [string, "w" | "other", (yard: YardDriver) => string[]][] = [
      ["done", "w", (yard) => yard.done("w", 1)],
      ["failed for good", "w", (yard) => yard.fail("w", 1)],
      ["lost with its worker", "other", (yard) => yard.leave("w")],
      ["cancelled, with a worker that has not answered", "other", (yard) => yard.cancel(1)],
      ["answered by another", "other", (yard) => yard.answer(1)],
      ["returned", "other", (yard) => yard.giveBack("w", 1, "busy", 1000)],
      ["drained and done", "other", (yard) => [...yard.drain("w"), ...yard.done("w", 1)]],
    ];
    for (const [name, to, end] of ends) {
      const yard = yardWith({ maxRunning: 1, failures: 1 });
      yard.join("w");
      yard.join("other");
      yard.submit();
      yard.submit();
      assert.equal(yard.why(2), "limited", name);
      assert.match(assigned(end(yard)).join(), new RegExp(`^assign \\d to ${to} as 1.2$`), name);
      assert.equal(yard.queue()?.running, 1, name);
    }
  });

  test("a time limit frees it, and the retry waits its turn", () => {
    const yard = yardWith({ maxRunning: 1, attemptTimeoutMs: 100 });
    yard.join("w", { slots: 2, runsAtOnce: 2 });
    yard.submit();
    yard.submit();
    assert.deepEqual(assigned(yard.wait(100)), ["assign 1 to w as 1.2"]);
    assert.equal(yard.why(2), "limited");
  });

  test("waiting claims get the tasks that may start", () => {
    const yard = yardWith({ maxRunning: 1 });
    yard.joinPuller("p");
    yard.submit();
    yard.submit();
    assert.deepEqual(assigned(yard.want("p", { max: 5, request: 1 })), [
      "assign 1 to p as 1.1 for 5000 on 1",
    ]);
    yard.joinPuller("q");
    yard.want("q", { forMs: 60_000, request: 2 });
    assert.deepEqual(assigned(yard.done("p", 1)), ["assign 2 to q as 1.2 for 5000 on 2"]);
  });

  test("after a restart, tasks that may still run count until their grace is over", () => {
    const yard = yardWith({ maxRunning: 1 });
    yard.join("w");
    yard.submit();
    yard.submit();
    yard.restart();
    assert.deepEqual(yard.join("other"), [], "task 1 may still be running");
    assert.equal(yard.why(2), "limited");
    assert.deepEqual(assigned(yard.wait(10_000)), ["assign 1 to other as 2.1"]);
  });

  test("a worker that comes back keeps its task within the limit", () => {
    const yard = yardWith({ maxRunning: 1 });
    yard.join("w");
    yard.submit();
    yard.submit();
    yard.restart();
    yard.join("w", { slots: 2 });
    const attempt = (2 ** 32 + 1) as AttemptNumber;
    yard.beat("w", 1, undefined, { attempt });
    assert.equal(yard.queue()?.running, 1);
    assert.deepEqual(yard.done("w", 1, { attempt }), ["assign 2 to w as 2.1"]);
  });

  test("an assignment waits for its commit, also where workers cannot resume", () => {
    const yard = yardWith({ maxRunning: 1 });
    yard.post("x", { type: "door-opened", incarnation: 1, forgets: true });
    yard.join("w");
    yard.submit();
    assert.equal(yard.effects[0]?.type === "assign" && yard.effects[0].waitsForCommit, true);
    assert.equal(yard.state(1), "running");
  });

  test("it can be changed while tasks wait", () => {
    const yard = yardWith({});
    yard.join("w", { slots: 9, runsAtOnce: 9 });
    yard.set({ maxRunning: 1 });
    for (let count = 0; count < 4; count += 1) yard.submit();
    assert.equal(yard.queue()?.running, 1);
    assert.equal(assigned(yard.set({ maxRunning: 3 })).length, 2);
    yard.set({ maxRunning: 1 });
    assert.deepEqual(assigned(yard.done("w", 1)), []);
    assert.equal(assigned(yard.set({ maxRunning: null })).length, 1);
  });
});

describe("rate", () => {
  const rate = { tasks: 2, perMs: 1000 };

  test("a burst, then one token after the other; why says when", () => {
    const yard = yardWith({ rate });
    yard.join("w", { slots: 9, runsAtOnce: 9 });
    for (let count = 0; count < 5; count += 1) yard.submit();
    assert.equal(yard.queue()?.running, 2);
    assert.deepEqual(yard.core.view.why(3 as TaskId, yard.now), {
      code: "limited",
      message: "The rate of queue q is 2 tasks in 1 s.",
      until: wallAtStart + 500,
    });
    assert.deepEqual(assigned(yard.wait(499)), []);
    assert.deepEqual(assigned(yard.wait(1)), ["assign 3 to w as 1.3"]);
    assert.deepEqual(assigned(yard.wait(500)), ["assign 4 to w as 1.4"]);
  });

  test("a bucket that had time to fill holds no more than its size", () => {
    const yard = yardWith({ rate });
    yard.join("w", { slots: 9, runsAtOnce: 9 });
    yard.submit();
    yard.wait(60_000);
    for (let count = 0; count < 5; count += 1) yard.submit();
    assert.equal(yard.queue()?.running, 3);
  });

  test("a retry takes a token, too", () => {
    const yard = yardWith({ rate: { tasks: 1, perMs: 1000 } });
    yard.join("w");
    yard.submit();
    yard.lose("w", 1);
    assert.equal(yard.why(1), "limited");
    assert.deepEqual(assigned(yard.wait(1000)), ["assign 1 to w as 1.2"]);
  });

  test("after a restart the bucket is as it was", () => {
    const yard = yardWith({ rate });
    yard.join("w", { slots: 9, runsAtOnce: 9 });
    for (let count = 0; count < 4; count += 1) yard.submit();
    yard.pass(100);
    yard.restart();
    assert.deepEqual(assigned(yard.join("v", { slots: 9, runsAtOnce: 9 })), []);
    assert.deepEqual(assigned(yard.wait(399)), []);
    assert.deepEqual(assigned(yard.wait(1)), ["assign 3 to v as 2.1"]);
  });

  test("after a restart with a clock that was set back, it waits for at most one whole bucket", () => {
    const yard = yardWith({ rate });
    yard.join("w", { slots: 9, runsAtOnce: 9 });
    for (let count = 0; count < 4; count += 1) yard.submit();
    yard.jumpWall(-3_600_000);
    yard.restart();
    yard.join("v", { slots: 9, runsAtOnce: 9 });
    assert.deepEqual(assigned(yard.wait(500)), ["assign 3 to v as 2.1"]);
  });

  test("a slow rate that becomes a fast one does not wait for the slow one's tokens", () => {
    const yard = yardWith({ rate: { tasks: 1, perMs: 3_600_000 } });
    yard.join("w", { slots: 9, runsAtOnce: 9 });
    yard.submit();
    yard.submit();
    yard.set({ rate: { tasks: 1, perMs: 100 } });
    assert.deepEqual(assigned(yard.wait(100)), ["assign 2 to w as 1.2"]);
  });

  test("its record goes with the rate", () => {
    const yard = yardWith({});
    yard.set({ rate });
    yard.join("w");
    yard.submit();
    assert.deepEqual([...yard.store.memos.keys()], [`${coreMemoDoor} settings/q`, `${coreMemoDoor} rate/q`]);
    yard.set({ rate: null });
    assert.deepEqual([...yard.store.memos.keys()], []);
    yard.set({ rate });
    yard.submit();
    yard.done("w", 1);
    yard.store.memos.delete(`${coreMemoDoor} settings/q`);
    yard.restart();
    assert.deepEqual([...yard.store.memos.keys()], [], "the rate was taken out of the configuration");
  });

  test("ten thousand a second are ten thousand a second", () => {
    const yard = yardWith({ rate: { tasks: 10_000, perMs: 1000 }, maxWaiting: 100_000 });
    yard.join("w", { slots: 65_536, runsAtOnce: 65_536 });
    for (let count = 0; count < 10_100; count += 1)
      yard.core.handle(
        {
          door: "y",
          number: count + 1,
          event: { type: "task-submitted", submission: { queue: "q", payload: { mediaType: "", size: 0 } } },
        },
        yard.now,
      );
    assert.equal(yard.queue()?.running, 10_000);
    yard.pass(5);
    yard.timeout();
    assert.equal(yard.queue()?.running, 10_050);
  });
});

describe("backoff", () => {
  const backoff = { atOnce: 0, firstMs: 100, factor: 3, maxMs: 500, jitter: 0 };

  test("a queue's own backoff delays its retries, from the first", () => {
    const yard = yardWith({ backoff, failures: 5 });
    yard.join("w");
    yard.submit();
    yard.fail("w", 1);
    assert.equal(yard.nextMs, 100);
    yard.wait(100);
    yard.fail("w", 1);
    assert.equal(yard.nextMs, 300);
    yard.wait(300);
    yard.lose("w", 1);
    assert.equal(yard.nextMs, 100, "the first loss");
    yard.wait(100);
    yard.fail("w", 1);
    assert.equal(yard.nextMs, 500, "no more than the maximum");
  });

  test("a longer backoff than the default's survives a restart", () => {
    const yard = yardWith({ backoff: { ...backoff, firstMs: 600_000, maxMs: 600_000 }, failures: 5 });
    yard.join("w");
    yard.submit();
    yard.fail("w", 1);
    yard.restart();
    yard.join("w");
    assert.deepEqual(assigned(yard.wait(599_999)), []);
    assert.deepEqual(assigned(yard.wait(1)), ["assign 1 to w as 2.1"]);
  });
});
