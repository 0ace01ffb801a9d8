// Which task goes to which worker, and when: order, choice of worker, delays, and expiry while
// waiting.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { wallAtStart, YardDriver } from "./testing/yard-driver.js";
import type { WallTime } from "./time.js";

const wallIn = (ms: number) => (wallAtStart + ms) as WallTime;

describe("order within a queue", () => {
  test("an assignment carries all facts of its attempt, and the recorded change has the same", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ priority: 3 });
    const head = yard.stored(1).head;
    const attempt = 2 ** 32 + 1;
    assert.deepEqual(yard.effects, [
      {
        type: "assign",
        door: "x",
        worker: "x/w",
        task: head,
        attempt,
        leaseMs: 0,
        request: undefined,
        waitsForCommit: false,
      },
    ]);
    assert.deepEqual(yard.changes, [
      {
        kind: "head",
        head: {
          id: 1,
          queue: "q",
          priority: 3,
          door: "x",
          submittedAt: wallAtStart,
          payload: head.payload,
          policy: { attempts: 5, failures: 1, attemptTimeoutMs: 0, waitingMsMax: 0 },
          key: undefined,
          fingerprint: undefined,
          replyTo: undefined,
          envelope: undefined,
          notBefore: 0,
          expiresAt: 0,
          relations: undefined,
        },
      },
      {
        kind: "progress",
        progress: {
          id: 1,
          state: "running",
          attempt,
          worker: "x/w",
          startedAt: wallAtStart,
          finishedAt: undefined,
          losses: 0,
          failures: 0,
          notBefore: 0,
          error: undefined,
          result: undefined,
          told: false,
          settled: 0,
          recovering: false,
          story: undefined,
          report: undefined,
        },
        queue: "q",
      },
      { kind: "door", door: { name: "x", incarnation: 1, mark: 3 } },
    ]);
  });

  test("first in, first out", () => {
    const yard = new YardDriver();
    for (let count = 0; count < 3; count += 1) assert.deepEqual(yard.submit(), []);
    assert.deepEqual(yard.join("w"), ["assign 1 to w as 1.1"]);
    assert.deepEqual(yard.done("w", 1), ["assign 2 to w as 1.2"]);
    assert.deepEqual(yard.done("w", 2), ["assign 3 to w as 1.3"]);
    assert.deepEqual(yard.done("w", 3), []);
  });

  test("the highest priority goes first, first in first out within it", () => {
    const yard = new YardDriver();
    for (const priority of [0, 5, -7, 5, 0, 9]) yard.submit({ priority });
    assert.deepEqual(yard.join("w", { slots: 6 }), [
      "assign 6 to w as 1.1",
      "assign 2 to w as 1.2",
      "assign 4 to w as 1.3",
      "assign 1 to w as 1.4",
      "assign 5 to w as 1.5",
      "assign 3 to w as 1.6",
    ]);
  });

  test("a worker of two queues takes the best of both, one of a single queue only its own", () => {
    const yard = new YardDriver();
    yard.submit({ queue: "a" });
    yard.submit({ queue: "b" });
    yard.submit({ queue: "a", priority: 1 });
    yard.submit({ queue: "b" });
    assert.deepEqual(yard.join("only-b", { queues: ["b"] }), ["assign 2 to only-b as 1.1"]);
    assert.deepEqual(yard.join("both", { queues: ["a", "b"], slots: 5 }), [
      "assign 3 to both as 1.2",
      "assign 1 to both as 1.3",
      "assign 4 to both as 1.4",
    ]);
  });

  test("a task finds a free worker of any door, and queues do not see each other's", () => {
    const yard = new YardDriver();
    yard.join("y/w", { queues: ["a"] });
    assert.deepEqual(yard.submit({ queue: "b" }), []);
    assert.deepEqual(yard.submit({ queue: "a" }), ["y: assign 2 to y/w as 1.1"]);
  });

  test("priorities that come and go leave no entries behind that delay others", () => {
    const yard = new YardDriver();
    yard.submit({ priority: 1000 });
    for (let priority = 0; priority < 200; priority += 1) {
      yard.submit({ priority });
      yard.cancel(priority + 2);
    }
    yard.submit({ priority: 7 });
    assert.deepEqual(yard.join("w", { slots: 3 }), ["assign 1 to w as 1.1", "assign 202 to w as 1.2"]);
  });
});

describe("choice of worker", () => {
  test("of workers that take one task, the least recently used", () => {
    const yard = new YardDriver();
    for (const name of ["a", "b", "c"]) yard.join(name);
    assert.deepEqual(yard.submit(), ["assign 1 to a as 1.1"]);
    assert.deepEqual(yard.submit(), ["assign 2 to b as 1.2"]);
    yard.done("b", 2);
    yard.done("a", 1);
    assert.deepEqual(yard.submit(), ["assign 3 to c as 1.3"]);
    assert.deepEqual(yard.submit(), ["assign 4 to b as 1.4"]);
    assert.deepEqual(yard.submit(), ["assign 5 to a as 1.5"]);
  });

  test("a beat, or a word about itself, does not make a worker recently used", () => {
    const yard = new YardDriver();
    for (const name of ["a", "b"]) yard.join(name, { givesBack: true });
    yard.beatWorker("a", 0);
    yard.join("a", { givesBack: true });
    assert.deepEqual(yard.submit(), ["assign 1 to a as 1.1"]);
  });

  test("of workers that take many, the least loaded", () => {
    const yard = new YardDriver();
    for (const name of ["a", "b"]) yard.join(name, { slots: 10 });
    assert.deepEqual(yard.submit(), ["assign 1 to a as 1.1"]);
    assert.deepEqual(yard.submit(), ["assign 2 to b as 1.2"]);
    assert.deepEqual(yard.submit(), ["assign 3 to a as 1.3"]);
    yard.done("b", 2);
    assert.deepEqual(yard.submit(), ["assign 4 to b as 1.4"]);
    assert.deepEqual(yard.submit(), ["assign 5 to b as 1.5"]);
  });

  test("an idle worker with one slot goes before a loaded one with many", () => {
    const yard = new YardDriver();
    yard.join("many", { slots: 3 });
    yard.submit();
    yard.join("y/one");
    assert.deepEqual(yard.submit(), ["y: assign 2 to y/one as 1.2"]);
    assert.deepEqual(yard.submit(), ["assign 3 to many as 1.3"]);
    assert.deepEqual(yard.submit(), ["assign 4 to many as 1.4"]);
    assert.deepEqual(yard.submit(), []);
  });

  test("a worker that serves other queues now gets no more of the old ones", () => {
    const yard = new YardDriver();
    yard.join("w", { queues: ["a"] });
    yard.join("w", { queues: ["b"] });
    assert.deepEqual(yard.submit({ queue: "a" }), []);
    assert.deepEqual(yard.submit({ queue: "b" }), ["assign 2 to w as 1.1"]);
    assert.equal(yard.queue("a")?.workers, 0);
  });

  test("a worker that comes back with more slots is served at once", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.submit();
    assert.deepEqual(yard.join("w", { slots: 2 }), ["assign 2 to w as 1.2"]);
  });
});

describe("delay", () => {
  test("a delayed task is not handed over before its time, and then queues up last", () => {
    const yard = new YardDriver();
    yard.submit({ delayMs: 1000 });
    yard.submit();
    yard.submit();
    assert.equal(yard.stored(1).head.notBefore, wallIn(1000));
    assert.deepEqual(yard.join("w"), ["assign 2 to w as 1.1"]);
    assert.deepEqual(yard.wait(999), []);
    assert.deepEqual(yard.wait(1), []);
    assert.deepEqual(yard.done("w", 2), ["assign 3 to w as 1.2"]);
    assert.deepEqual(yard.done("w", 3), ["assign 1 to w as 1.3"]);
  });

  test("a free worker gets it when it wakes", () => {
    const yard = new YardDriver();
    yard.join("w");
    assert.deepEqual(yard.submit({ delayMs: 1000 }), []);
    assert.equal(yard.nextMs, 1000);
    assert.deepEqual(yard.wait(1000), ["assign 1 to w as 1.1"]);
  });
});

describe("expiry while waiting", () => {
  test("at an absolute time", () => {
    const yard = new YardDriver();
    yard.submit({ expiresAt: wallIn(500), replyTo: { address: "me", diesWithConnection: false } });
    assert.deepEqual(yard.wait(499), []);
    assert.deepEqual(yard.wait(1), ["tell 1 expired expired"]);
    assert.equal(yard.state(1), "expired");
    assert.deepEqual(yard.story(1), ["waiting submitted", "expired expired"]);
    assert.deepEqual(yard.join("w"), []);
  });

  test("one that is past already is accepted and expires at once", () => {
    const yard = new YardDriver();
    yard.join("w");
    assert.deepEqual(yard.submit({ expiresAt: wallIn(0), request: 1 }), ["reply 1 accepted 1"]);
    assert.equal(yard.state(1), "expired");
  });

  test("an expired task is handed to nobody although its deadline was not handled yet", () => {
    const yard = new YardDriver();
    yard.submit({ expiresAt: wallIn(500) });
    yard.submit({ waitingMsMax: 400 });
    yard.submit();
    yard.pass(500);
    assert.deepEqual(yard.join("w", { slots: 3 }), ["assign 3 to w as 1.1"]);
    assert.deepEqual([yard.state(1), yard.state(2)], ["expired", "expired"]);
  });

  test("an expired task is not handed over when a pause ends", () => {
    const yard = new YardDriver();
    yard.order("pause");
    yard.join("w");
    yard.submit({ expiresAt: wallIn(500) });
    yard.submit();
    yard.pass(500);
    assert.deepEqual(yard.order("resume"), ["assign 2 to w as 1.1"]);
    assert.equal(yard.state(1), "expired");
  });

  test("a task is not handed over if its delay ends after its expiry", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ delayMs: 600, expiresAt: wallIn(500) });
    yard.pass(700);
    assert.deepEqual(yard.timeout(), []);
    assert.equal(yard.state(1), "expired");
  });

  test("a task that began in time runs on; lost after its time, it expires", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ expiresAt: wallIn(500) });
    assert.deepEqual(yard.wait(1000), []);
    assert.equal(yard.state(1), "running");
    yard.join("other");
    assert.deepEqual(yard.leave("w"), []);
    assert.equal(yard.state(1), "expired");
  });

  test("after its waiting limit, which starts again each time it begins to wait", () => {
    const yard = new YardDriver();
    yard.submit({ waitingMsMax: 1000 });
    yard.wait(900);
    yard.join("w");
    yard.wait(5000);
    yard.leave("w");
    assert.deepEqual(yard.wait(999), []);
    assert.equal(yard.state(1), "waiting");
    yard.wait(1);
    assert.equal(yard.state(1), "expired");
  });

  test("neither delay nor backoff counts towards it", () => {
    const yard = new YardDriver();
    yard.submit({ waitingMsMax: 500, delayMs: 2000 });
    yard.wait(2400);
    assert.equal(yard.state(1), "waiting");
    yard.join("w");
    yard.fail("w", 1, { asLoss: true });
    yard.drain("w");
    yard.lose("w", 1);
    assert.equal(yard.why(1), "backoff");
    yard.wait(1000);
    assert.equal(yard.why(1), "draining");
    yard.wait(499);
    assert.equal(yard.state(1), "waiting");
    yard.wait(1);
    assert.equal(yard.state(1), "expired");
  });

  test("a return does not start the wait anew: the worker did not take the task", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ waitingMsMax: 1000 });
    yard.wait(600);
    yard.giveBack("w", 1, "undelivered", 10_000);
    yard.wait(399);
    assert.equal(yard.state(1), "waiting");
    yard.wait(1);
    assert.equal(yard.state(1), "expired");
  });

  test("one that is out when its wait is over expires as soon as it comes back", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.join("other");
    yard.submit({ waitingMsMax: 1000 });
    yard.wait(1100);
    assert.equal(yard.state(1), "running");
    yard.giveBack("w", 1, "undelivered");
    assert.equal(yard.state(1), "expired");
  });

  test("an expired task says what it waited for", () => {
    const yard = new YardDriver();
    yard.submit({ waitingMsMax: 1000 });
    yard.wait(1000);
    assert.equal(
      yard.stored(1).progress?.error?.message,
      "No worker began the task before its time was over. No worker serves queue q.",
    );
  });

  test("the earlier of both counts", () => {
    const yard = new YardDriver();
    yard.submit({ waitingMsMax: 500, expiresAt: wallIn(300) });
    yard.submit({ waitingMsMax: 300, expiresAt: wallIn(500) });
    yard.wait(299);
    assert.deepEqual([yard.state(1), yard.state(2)], ["waiting", "waiting"]);
    yard.wait(1);
    assert.deepEqual([yard.state(1), yard.state(2)], ["expired", "expired"]);
  });
});

describe("pause", () => {
  test("a paused queue gives nothing out, and continues in its order", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 5 });
    assert.deepEqual(yard.order("pause", "q", 1), ["reply 1 granted"]);
    assert.deepEqual(yard.changes[0], { kind: "queue", queue: { name: "q", paused: true, draining: false } });
    yard.submit();
    yard.submit({ delayMs: 100 });
    yard.submit({ priority: 1 });
    assert.deepEqual(yard.wait(1000), []);
    assert.deepEqual(yard.order("resume", "q", 2), [
      "assign 3 to w as 1.1",
      "assign 1 to w as 1.2",
      "assign 2 to w as 1.3",
      "reply 2 granted",
    ]);
    assert.deepEqual(
      yard.changes.find(({ kind }) => kind.startsWith("queue")),
      { kind: "queue-gone", name: "q" },
    );
  });

  test("in a paused queue, running tasks continue and lost ones wait", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.join("v");
    yard.submit();
    yard.submit();
    yard.order("pause");
    yard.done("w", 1);
    assert.equal(yard.state(1), "done");
    assert.deepEqual(yard.leave("v"), []);
    assert.equal(yard.why(2), "paused");
    assert.deepEqual(yard.order("resume"), ["assign 2 to w as 1.3"]);
  });
});
