// Recovery from committed state: order, deadlines, leases, outcomes, keys, and operators' orders.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type AttemptNumber, attemptOf, type TaskId } from "./names.js";
import { wallAtStart, YardDriver } from "./testing/yard-driver.js";
import type { WallTime } from "./time.js";

const hourMs = 3_600_000;
const graceMs = 10_000;
const replyTo = { address: "me", diesWithConnection: false };
const old = (counter: number) => attemptOf(1, counter);

describe("after a restart", () => {
  test("what waits, waits in its order, and ids go on", () => {
    const yard = new YardDriver();
    for (const priority of [0, 5, 0, 5]) yard.submit({ priority });
    assert.deepEqual(yard.restart(), []);
    assert.deepEqual(yard.submit({ request: 1 }), ["reply 1 accepted 5"]);
    assert.deepEqual(yard.join("w", { slots: 5 }), [
      "assign 2 to w as 2.1",
      "assign 4 to w as 2.2",
      "assign 1 to w as 2.3",
      "assign 3 to w as 2.4",
      "assign 5 to w as 2.5",
    ]);
  });

  test("a task that was lost before is at the head, with its losses", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.submit();
    yard.leave("w");
    yard.restart();
    assert.deepEqual(yard.join("v"), ["assign 1 to v as 2.1"]);
    assert.equal(yard.stored(1).progress?.losses, 1);
  });

  test("ids of settled and trimmed tasks are not used again", () => {
    const yard = new YardDriver({ retention: { bytes: 1e9, ageMs: 10, count: 1e9 } });
    yard.submit();
    yard.cancel(1);
    yard.wait(100);
    assert.equal(yard.store.tasks.size, 0);
    yard.restart();
    assert.deepEqual(yard.submit({ request: 1 }), ["reply 1 accepted 2"]);
  });

  test("delay and backoff last as long as was left of them", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.lose("w", 1);
    yard.lose("w", 1);
    yard.submit({ delayMs: 5000 });
    yard.wait(400);
    yard.restart();
    yard.join("w", { slots: 2 });
    assert.deepEqual([yard.why(1), yard.why(2)], ["backoff", "delayed"]);
    assert.deepEqual(yard.wait(599), []);
    assert.deepEqual(yard.wait(1), ["assign 1 to w as 2.1"]);
    assert.deepEqual(yard.wait(3999), []);
    assert.deepEqual(yard.wait(1), ["assign 2 to w as 2.2"]);
  });

  test("tasks whose time passed meanwhile expire", () => {
    const yard = new YardDriver();
    yard.submit({ expiresAt: (wallAtStart + 500) as WallTime, replyTo });
    yard.submit({ expiresAt: (wallAtStart + 2000) as WallTime });
    yard.pass(1000);
    assert.deepEqual(yard.restart(), ["tell 1 expired expired"]);
    yard.wait(999);
    assert.equal(yard.state(2), "waiting");
    yard.wait(1);
    assert.equal(yard.state(2), "expired");
  });

  test("a clock that was set back meanwhile does not lengthen an expiry", () => {
    const yard = new YardDriver();
    yard.submit({ expiresAt: (wallAtStart + 500) as WallTime });
    yard.jumpWall(-hourMs);
    yard.restart();
    yard.wait(499);
    assert.equal(yard.state(1), "waiting");
    yard.wait(1);
    assert.equal(yard.state(1), "expired");
  });

  test("a queue that was paused or drained still is, and a task that fits is given out when it resumes", () => {
    const yard = new YardDriver();
    yard.order("pause", "a");
    yard.order("drain", "b");
    yard.submit({ queue: "a" });
    yard.restart();
    assert.deepEqual(yard.join("w", { queues: ["a"] }), []);
    assert.equal(yard.queue("a")?.paused, true);
    assert.deepEqual(yard.submit({ queue: "b", request: 1 }), ["reply 1 refused not_ready"]);
    assert.deepEqual(yard.order("resume", "a"), ["assign 1 to w as 2.1"]);
  });

  test("outcomes not yet told are told unchanged when their door opens, for the rest of their time", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ replyTo });
    yard.submit({ replyTo });
    yard.done("w", 1);
    const [tell] = yard.effects;
    yard.done("w", 2);
    yard.post("x", { type: "outcomes-told", tasks: [2 as TaskId] });
    yard.wait(1000);
    assert.deepEqual(yard.restart(), []);
    assert.deepEqual(yard.post("x", { type: "door-opened", incarnation: 2 }), ["tell 1 done 3 bytes"]);
    assert.deepEqual(yard.effects, [tell]);
    yard.wait(hourMs - 1001);
    assert.equal(yard.stored(1).progress?.settled, 0);
    yard.wait(1);
    assert.deepEqual([yard.stored(1).progress?.told, yard.stored(1).progress?.settled], [false, 2]);
  });

  test("keys of live tasks are known again, and those of finished tasks for the rest of their time", () => {
    const yard = new YardDriver();
    yard.submit({ key: "done", fingerprint: "f" });
    yard.cancel(1);
    yard.submit({ key: "live" });
    yard.submit({ key: "untold", replyTo });
    yard.cancel(3);
    yard.wait(hourMs / 2);
    yard.restart();
    const again = (key: string, request: number) => yard.submit({ key, request, fingerprint: "f" }).at(-1);
    assert.equal(again("done", 1), "reply 1 existing 1");
    assert.equal(again("live", 2), "reply 2 existing 2");
    assert.equal(again("untold", 3), "reply 3 existing 3");
    assert.deepEqual(yard.submit({ key: "done", fingerprint: "g", request: 4 }), [
      "reply 4 refused key_conflict",
    ]);
    yard.wait(23.5 * hourMs - 1);
    assert.equal(again("done", 5), "reply 5 existing 1");
    yard.wait(1);
    assert.equal(again("done", 6), "reply 6 accepted 4");
    assert.equal(again("untold", 7), "reply 7 accepted 5");
    assert.equal(again("live", 8), "reply 8 existing 2");
  });

  test("a key forgotten before its task was told stays forgotten", () => {
    const yard = new YardDriver({ keyTtlMs: 1000 });
    yard.submit({ key: "k", replyTo });
    yard.cancel(1);
    yard.wait(1000);
    yard.restart();
    assert.equal(yard.submit({ key: "k", request: 1 }).at(-1), "reply 1 accepted 2");
  });

  test("the story goes on", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.restart();
    assert.deepEqual(yard.story(1), [
      "waiting submitted",
      "running assigned 1.1 w",
      "waiting restarted: its worker may come back 1.1 w",
    ]);
  });
});

describe("what was running", () => {
  function crashed(): YardDriver {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.restart();
    return yard;
  }

  test("recovers: nobody is given it while its worker may come back", () => {
    const yard = crashed();
    assert.equal(yard.why(1), "recovering");
    assert.deepEqual(yard.core.view.why(1 as TaskId, yard.now), {
      code: "recovering",
      message: "It was running when the dispatcher stopped; x/w may come back for it.",
      until: yard.now.wall + graceMs,
    });
    assert.deepEqual(yard.join("v"), []);
    assert.equal(yard.state(1), "waiting");
  });

  test("is its worker's again when that answers, whether it names the attempt or only the task", () => {
    for (const attempt of [old(1), undefined]) {
      const yard = crashed();
      yard.join("w");
      assert.deepEqual(yard.done("w", 1, { attempt, request: 1 }), ["reply 1 granted 1"]);
      assert.equal(yard.state(1), "done");
      assert.equal(yard.stored(1).progress?.attempt, old(1));
    }
  });

  test("is its worker's again when that beats: it takes a slot, and keeps its attempt's number", () => {
    const yard = crashed();
    assert.deepEqual(yard.join("w"), []);
    assert.deepEqual(yard.beat("w", 1, undefined, { attempt: old(1), request: 1 }), ["reply 1 beat 0"]);
    assert.equal(yard.state(1), "running");
    assert.equal(yard.story(1).at(-1), "running resumed 1.1 w");
    assert.deepEqual(yard.submit(), []);
    assert.deepEqual(yard.wait(2 * graceMs), []);
    assert.deepEqual(yard.done("w", 1, { attempt: old(1) }), ["assign 2 to w as 2.1"]);
    assert.equal(yard.stored(1).progress?.losses, 0);
  });

  test("a worker that pulls gets its lease back for the grace period, and with a beat for as long as the beat asks", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.submit();
    yard.want("p");
    yard.restart();
    yard.joinPuller("p");
    yard.beat("p", 1, undefined, { attempt: old(1) });
    assert.equal(yard.nextMs, graceMs);
    assert.deepEqual(yard.beat("p", 1, 30_000, { attempt: old(1), request: 1 }), ["reply 1 beat 30000"]);
    assert.deepEqual(yard.wait(29_999), []);
    assert.deepEqual(yard.wait(1), ["revoke 1 from p as 1.1: lease_over"]);
  });

  test("a worker that pulls and names its task only once keeps it only for the grace period", () => {
    const yard = new YardDriver();
    yard.joinPuller("p");
    yard.submit();
    yard.want("p");
    yard.restart();
    yard.joinPuller("p");
    yard.beat("p", 1, undefined, { attempt: old(1) });
    assert.deepEqual(yard.wait(graceMs - 1), []);
    assert.deepEqual(yard.wait(1), ["revoke 1 from p as 1.1: lease_over"]);
  });

  test("belongs to no other worker, no other attempt, and no worker that is unknown", () => {
    const yard = crashed();
    yard.join("v");
    const refused = ["reply 1 refused stale_attempt"];
    assert.deepEqual(yard.done("v", 1, { attempt: old(1), request: 1 }), refused);
    assert.deepEqual(yard.done("v", 1, { attempt: undefined, request: 1 }), refused);
    assert.deepEqual(yard.done("w", 1, { attempt: old(1), request: 1 }), refused);
    yard.join("w");
    assert.deepEqual(yard.done("w", 1, { attempt: old(9), request: 1 }), refused);
    assert.deepEqual(yard.done("w", 1, { attempt: attemptOf(2, 1), request: 1 }), refused);
    assert.equal(yard.state(1), "waiting");
  });

  test("goes out again when nobody came, oldest first, at no cost, and then nobody can come any more", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 3 });
    for (let count = 0; count < 4; count += 1) yard.submit({ attempts: 1 });
    yard.restart();
    assert.deepEqual(yard.join("v"), ["assign 4 to v as 2.1"]);
    yard.join("u");
    yard.wait(graceMs - 1);
    assert.equal(yard.why(1), "recovering");
    assert.deepEqual(yard.wait(1), ["assign 1 to u as 2.2"]);
    assert.deepEqual(yard.done("v", 4), ["assign 2 to v as 2.3"]);
    assert.equal(yard.stored(1).progress?.losses, 0);
    assert.deepEqual(yard.done("w", 1, { attempt: old(1), request: 1 }), ["reply 1 refused stale_attempt"]);
  });

  test("goes out again at once if its dialect cannot say what a worker holds", () => {
    const yard = new YardDriver();
    yard.join("y/w");
    yard.join("w");
    for (let count = 0; count < 2; count += 1) yard.submit();
    yard.restart();
    yard.post("y", { type: "door-opened", incarnation: yard.epoch, forgets: true });
    assert.deepEqual([yard.why(1), yard.why(2)].sort(), ["no_worker", "recovering"]);
    assert.deepEqual(yard.join("y/w").length, 1);
    assert.equal(yard.stored(1).progress?.losses, 0);
  });

  test("recovers again when we stop again, and is still its worker's", () => {
    const yard = crashed();
    yard.wait(100);
    yard.restart();
    assert.equal(yard.why(1), "recovering");
    yard.join("w");
    assert.deepEqual(yard.done("w", 1, { attempt: old(1), request: 1 }), ["reply 1 granted 1"]);
  });

  test("can be cancelled, and its worker's answer is refused", () => {
    const yard = crashed();
    assert.deepEqual(yard.cancel(1, 1), ["reply 1 granted 1"]);
    yard.join("w");
    assert.deepEqual(yard.done("w", 1, { attempt: old(1), request: 2 }), ["reply 2 refused not_found"]);
  });
});

describe("what was given out without being committed", () => {
  /**
   * The store of a yard in which the tasks were accepted, and assigned in a step that was never
   * committed.
   */
  function crashed(count = 1): YardDriver {
    const yard = new YardDriver();
    for (let index = 0; index < count; index += 1) yard.submit();
    const committed = yard.store.copy();
    yard.join("w", { slots: count });
    yard.store = committed;
    yard.restart();
    return yard;
  }

  test("belongs to the worker that names an attempt from before the restart", () => {
    const yard = crashed();
    yard.drain("w");
    yard.order("pause");
    yard.join("w");
    assert.deepEqual(yard.beat("w", 1, undefined, { attempt: old(1), request: 1 }), ["reply 1 beat 0"]);
    assert.equal(yard.state(1), "running");
    assert.equal(yard.stored(1).progress?.attempt, old(1));
  });

  test("belongs to the worker that names the task, which nobody else was given; the attempt gets a new number", () => {
    const yard = crashed();
    yard.order("pause");
    yard.join("w");
    assert.deepEqual(yard.beat("w", 1, undefined, { attempt: undefined, request: 1 }), ["reply 1 beat 0"]);
    assert.equal(yard.state(1), "running");
    assert.equal(yard.stored(1).progress?.attempt, attemptOf(2, 1));
    assert.deepEqual(yard.done("w", 1, { attempt: undefined, request: 2 }), ["reply 2 granted 1"]);
  });

  test("does not belong to a worker that does not serve its queue, and so was never given it", () => {
    for (const attempt of [old(1), undefined]) {
      const yard = crashed();
      yard.order("pause");
      yard.join("v", { queues: ["r"] });
      assert.deepEqual(yard.done("v", 1, { attempt, request: 1 }), ["reply 1 refused stale_attempt"]);
      assert.equal(yard.state(1), "waiting");
    }
  });

  test("is not claimed by naming an attempt of this epoch, which nobody was given", () => {
    const yard = crashed();
    yard.order("pause");
    yard.join("w");
    const attempt = attemptOf(2, 9);
    assert.deepEqual(yard.done("w", 1, { attempt, request: 1 }), ["reply 1 refused stale_attempt"]);
  });

  test("is not claimed once it was given out again, or after the grace period", () => {
    const yard = crashed(2);
    yard.order("pause");
    yard.join("w");
    yard.wait(graceMs);
    assert.deepEqual(yard.done("w", 2, { attempt: old(2), request: 1 }), ["reply 1 refused stale_attempt"]);
    yard.order("resume");
    yard.leave("w");
    yard.restart();
    yard.join("v", { slots: 2 });
    yard.join("w");
    assert.equal(yard.state(2), "running");
    assert.deepEqual(yard.done("w", 2, { attempt: old(2), request: 2 }), ["reply 2 refused stale_attempt"]);
  });

  test("a task accepted since the restart belongs to no worker, whatever one names", () => {
    const yard = crashed();
    yard.order("pause");
    yard.join("w");
    yard.submit();
    for (const attempt of [old(5), attemptOf(0, 7), undefined])
      assert.deepEqual(yard.done("w", 2, { attempt, request: 1 }), ["reply 1 refused stale_attempt"]);
  });

  test("is not claimed by an attempt that is recorded as lost", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    const first = yard.attempts.get(1) as AttemptNumber;
    yard.leave("w");
    yard.restart();
    yard.order("pause");
    yard.join("w");
    for (const attempt of [first, undefined])
      assert.deepEqual(yard.done("w", 1, { attempt, request: 1 }), ["reply 1 refused stale_attempt"]);
  });
});
