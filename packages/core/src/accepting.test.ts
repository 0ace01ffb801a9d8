// Requests of clients and operators: accepting, keys, cancelling, watching, orders to queues.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defaultCoreOptions, defaultQueueSettings } from "./limits.js";
import { queueNamePattern, type TaskId } from "./names.js";
import { bodyOf, YardDriver } from "./testing/yard-driver.js";

const hourMs = 3_600_000;

describe("accepting", () => {
  test("ids rise and every submission is answered", () => {
    const yard = new YardDriver();
    assert.deepEqual(yard.submit({ request: 1 }), ["reply 1 accepted 1"]);
    assert.deepEqual(yard.submit({ request: 2 }), ["reply 2 accepted 2"]);
    assert.equal(yard.core.counters.submitted.of("q"), 2);
  });

  test("a task that a free worker gets at once is assigned before its submission is answered", () => {
    const yard = new YardDriver();
    yard.join("w");
    assert.deepEqual(yard.submit({ request: 1 }), ["assign 1 to w as 1.1", "reply 1 accepted 1"]);
  });

  test("a task with a reserved id may follow later ones, and the id is not used again", () => {
    const yard = new YardDriver();
    const id = yard.core.reserveTask();
    assert.equal(id, 1);
    yard.submit({ request: 1 });
    const submission = { queue: "q", payload: bodyOf(5) };
    const event = { type: "task-submitted", request: 2, submission, id } as const;
    assert.deepEqual(yard.post("http", event), ["http: reply 2 accepted 1"]);
    assert.deepEqual(yard.submit({ request: 3 }), ["reply 3 accepted 3"]);
    yard.restart();
    assert.deepEqual(yard.submit({ request: 4 }), ["reply 4 accepted 4"]);
    assert.equal(yard.core.liveTasks, 4);
  });

  test("a submission that would be refused, or has a known key, is not admitted", () => {
    const queueDefaults = { ...defaultQueueSettings, maxBytes: 10, maxWaiting: 2 };
    const yard = new YardDriver({ queueDefaults });
    const admits = (size: number, key?: string) =>
      yard.core.admits({ queue: "q", payload: bodyOf(size), ...(key === undefined ? {} : { key }) });
    assert.ok(admits(11), "the queue does not exist yet");
    yard.submit({ key: "k", payload: bodyOf(3) });
    assert.ok(!admits(1, "k"));
    assert.ok(admits(7) && !admits(8));
    yard.submit({ payload: bodyOf(0) });
    assert.ok(!admits(1), "two tasks wait");
  });

  test("a queue's name that needs escaping is refused", () => {
    const yard = new YardDriver();
    for (const queue of ["", "a/b", "ä", ".a", "a".repeat(129)])
      assert.deepEqual(yard.submit({ queue, request: 1 }), ["reply 1 refused bad_request"]);
    assert.deepEqual(yard.order("pause", "a/b", 2), ["reply 2 refused bad_request"]);
    yard.joinPuller("p");
    assert.deepEqual(yard.want("p", { queue: "a/b", request: 3 }), ["reply 3 refused bad_request"]);
    yard.join("w", { queues: ["a b", "q"] });
    assert.deepEqual(
      yard.core.view.queues().map(({ name }) => name),
      ["q"],
    );
  });
});

describe("idempotency", () => {
  test("while a task lives its key leads to it, and payloads are compared by fingerprint", () => {
    const yard = new YardDriver();
    assert.deepEqual(yard.submit({ key: "k", fingerprint: "f", request: 1 }), ["reply 1 accepted 1"]);
    assert.deepEqual(yard.submit({ key: "k", fingerprint: "f", request: 2 }), ["reply 2 existing 1"]);
    assert.deepEqual(yard.submit({ key: "k", request: 3 }), ["reply 3 existing 1"]);
    assert.deepEqual(yard.submit({ key: "k", fingerprint: "g", request: 4 }), [
      "reply 4 refused key_conflict",
    ]);
    assert.deepEqual(yard.submit({ key: "other", request: 5 }), ["reply 5 accepted 2"]);
    assert.deepEqual(yard.submit({ queue: "b", key: "k", request: 6 }), ["reply 6 accepted 3"]);
    yard.join("w");
    assert.deepEqual(yard.submit({ key: "k", request: 7 }), ["reply 7 existing 1"]);
  });

  test("after the end of the task its key leads to it until the key's time is over", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ key: "k", fingerprint: "f" });
    yard.wait(1000);
    yard.done("w", 1);
    assert.deepEqual(
      yard.changes.filter(({ kind }) => kind === "key"),
      [{ kind: "key", key: { queue: "q", key: "k", task: 1, fingerprint: "f", finishedAt: yard.now.wall } }],
    );
    yard.wait(24 * hourMs - 1);
    assert.deepEqual(yard.submit({ key: "k", fingerprint: "f", request: 1 }), ["reply 1 existing 1"]);
    assert.deepEqual(yard.submit({ key: "k", fingerprint: "g", request: 2 }), [
      "reply 2 refused key_conflict",
    ]);
    yard.wait(1);
    assert.deepEqual(yard.changes, [{ kind: "key-gone", queue: "q", key: "k", task: 1 }]);
    assert.equal(yard.store.keys.size, 0);
    assert.deepEqual(yard.submit({ key: "k", fingerprint: "g", request: 3 }), [
      "assign 2 to w as 1.2",
      "reply 3 accepted 2",
    ]);
  });

  test("so it does however the task ended", () => {
    const yard = new YardDriver();
    yard.submit({ key: "k" });
    yard.cancel(1);
    assert.deepEqual(yard.submit({ key: "k", request: 1 }), ["reply 1 existing 1"]);
  });

  test("beyond the limit on finished keys the oldest is forgotten before its time, and counted", () => {
    const yard = new YardDriver({ limits: { finishedKeys: 2 } });
    yard.join("w");
    for (const key of ["a", "b", "c"]) {
      yard.submit({ key });
      yard.done("w", yard.store.lastTask);
    }
    assert.equal(yard.core.counters.limitsReached.of("finishedKeys"), 1);
    assert.deepEqual([...yard.store.keys.keys()], ["q b", "q c"]);
    assert.deepEqual(yard.submit({ key: "c", request: 1 }), ["reply 1 existing 3"]);
    assert.deepEqual(yard.submit({ key: "a", request: 2 }), ["assign 4 to w as 1.4", "reply 2 accepted 4"]);
  });

  test("a key in a drained or stopping yard still finds its task", () => {
    const yard = new YardDriver();
    yard.submit({ key: "k" });
    yard.order("drain");
    assert.deepEqual(yard.submit({ key: "k", request: 1 }), ["reply 1 existing 1"]);
    yard.post("yard", { type: "yard-closing" });
    assert.deepEqual(yard.submit({ key: "k", request: 2 }), ["reply 2 existing 1"]);
  });
});

describe("cancel", () => {
  test("a waiting task at once, wherever it waits", () => {
    const yard = new YardDriver();
    yard.submit({ replyTo: { address: "me", diesWithConnection: false } });
    yard.submit({ delayMs: 1000 });
    assert.deepEqual(yard.cancel(1, 1), ["tell 1 cancelled cancelled", "reply 1 granted 1"]);
    assert.deepEqual(yard.cancel(2, 2), ["reply 2 granted 2"]);
    assert.deepEqual(yard.stored(2).progress?.error, { code: "cancelled", message: "Cancelled by me." });
    assert.deepEqual(yard.story(2), ["waiting submitted", "cancelled cancelled by me"]);
    assert.deepEqual(yard.wait(2000), []);
    assert.deepEqual(yard.join("w"), []);
  });

  test("a task in backoff", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.lose("w", 1);
    yard.lose("w", 1);
    assert.deepEqual(yard.cancel(1, 1), ["reply 1 granted 1"]);
    assert.deepEqual(yard.wait(5000), []);
  });

  test("a running one: its lease is revoked, the slot stays taken, the answer is dropped and frees it", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ replyTo: { address: "me", diesWithConnection: false } });
    yard.submit();
    assert.deepEqual(yard.cancel(1, 1), [
      "revoke 1 from w as 1.1: cancelled",
      "tell 1 cancelled cancelled",
      "reply 1 granted 1",
    ]);
    assert.equal(yard.worker("w")?.state, "busy");
    assert.equal(yard.queue()?.running, 0);
    assert.deepEqual(yard.done("w", 1, { request: 2 }), [
      "reply 2 refused stale_attempt",
      "assign 2 to w as 1.2",
    ]);
    assert.equal(yard.state(1), "cancelled");
    assert.deepEqual(yard.story(1).slice(2), [
      "cancelled cancelled by me 1.1 w",
      "cancelled late: done refused 1.1 w",
    ]);
  });

  test("the late answer is kept in the story also when nobody was to be told", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.cancel(1);
    yard.done("w", 1, { attempt: undefined });
    assert.equal(yard.story(1).at(-1), "cancelled late: done refused w");
    assert.equal(yard.worker("w")?.state, "idle");
  });

  test("one that is finished or unknown is answered so", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ replyTo: { address: "me", diesWithConnection: false } });
    yard.done("w", 1);
    assert.deepEqual(yard.cancel(1, 1), ["reply 1 refused wrong_state"]);
    assert.deepEqual(yard.cancel(99, 2), ["reply 2 refused not_found"]);
  });
});

describe("watching", () => {
  const watch = (yard: YardDriver, task: number, forMs: number, request: number) =>
    yard.post("x", { type: "task-watched", request, task: task as TaskId, forMs });

  test("is answered when the task ends, or when the wait is over", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    assert.deepEqual(watch(yard, 1, 500, 1), []);
    assert.deepEqual(watch(yard, 1, 2000, 2), []);
    assert.deepEqual(yard.wait(499), []);
    assert.deepEqual(yard.wait(1), ["reply 1 watched 1 not yet"]);
    assert.deepEqual(yard.done("w", 1), ["reply 2 watched 1 finished"]);
    assert.deepEqual(yard.wait(5000), []);
  });

  test("may come with the submission: a new task, a known key, a refusal", () => {
    const yard = new YardDriver();
    const submit = (request: number, key: string, fingerprint: string) =>
      yard.post("x", {
        type: "task-submitted",
        request,
        submission: { queue: "q", payload: { mediaType: "text/plain", size: 0 }, key, fingerprint },
        watch: { request: request + 1, forMs: 500 },
      });
    yard.join("w");
    assert.deepEqual(submit(1, "k", "one"), ["assign 1 to w as 1.1", "reply 1 accepted 1"]);
    assert.deepEqual(submit(3, "k", "other"), [
      "reply 4 refused key_conflict",
      "reply 3 refused key_conflict",
    ]);
    assert.deepEqual(yard.done("w", 1), ["reply 2 watched 1 finished"]);
    assert.deepEqual(submit(5, "k", "one"), ["reply 5 existing 1", "reply 6 watched 1 finished"]);
    assert.deepEqual(submit(7, "k2", "one"), ["assign 2 to w as 1.2", "reply 7 accepted 2"]);
    assert.deepEqual(yard.wait(500), ["reply 8 watched 2 not yet"]);
  });

  test("is answered at once for a finished or unknown task, and for no wait", () => {
    const yard = new YardDriver();
    yard.submit();
    assert.deepEqual(watch(yard, 1, 0, 1), ["reply 1 watched 1 not yet"]);
    assert.deepEqual(watch(yard, 9, 500, 2), ["reply 2 watched 9 finished"]);
    yard.cancel(1);
    assert.deepEqual(watch(yard, 1, 500, 3), ["reply 3 watched 1 finished"]);
  });

  test("is not answered once dropped", () => {
    const yard = new YardDriver();
    yard.submit();
    watch(yard, 1, 500, 1);
    yard.post("x", { type: "request-dropped", request: 1 });
    assert.deepEqual(yard.cancel(1), []);
  });

  test("beyond the limit is answered at once, and counted", () => {
    const yard = new YardDriver({ limits: { waitingRequests: 1 } });
    yard.submit();
    watch(yard, 1, 500, 1);
    assert.deepEqual(watch(yard, 1, 500, 2), ["reply 2 watched 1 not yet"]);
    assert.equal(yard.core.counters.limitsReached.of("waitingRequests"), 1);
  });
});

describe("orders to a queue", () => {
  test("a draining queue takes nothing new and works off what it has", () => {
    const yard = new YardDriver();
    yard.submit();
    assert.deepEqual(yard.order("drain", "q", 1), ["reply 1 granted"]);
    assert.deepEqual(yard.changes[0], { kind: "queue", queue: { name: "q", paused: false, draining: true } });
    assert.deepEqual(yard.submit({ request: 2 }), ["reply 2 refused not_ready"]);
    assert.deepEqual(yard.join("w"), ["assign 1 to w as 1.1"]);
    assert.equal(yard.queue()?.draining, true);
    yard.order("resume");
    assert.deepEqual(yard.submit({ request: 3 }), ["reply 3 accepted 2"]);
  });

  test("an empty queue is forgotten; one that an operator paused is not", () => {
    const yard = new YardDriver();
    yard.submit({ queue: "a" });
    yard.cancel(1);
    yard.order("resume", "b");
    yard.order("pause", "c");
    assert.deepEqual(
      yard.core.view.queues().map(({ name }) => name),
      ["c"],
    );
  });
});

describe("names of Object.prototype", () => {
  const names = Object.getOwnPropertyNames(Object.prototype).filter((name) => queueNamePattern.test(name));

  test("are queues like any other, with the limits of any other", () => {
    assert.ok(names.includes("constructor") && names.includes("toString"));
    for (const queue of names) {
      const yard = new YardDriver({
        queueDefaults: { ...defaultCoreOptions.queueDefaults, attempts: 2, maxWaiting: 1 },
      });
      yard.join("w", { queues: [queue] });
      yard.submit({ queue, key: queue });
      yard.submit({ queue });
      assert.deepEqual(yard.submit({ queue, request: 1 }), ["reply 1 refused queue_full"], queue);
      yard.leave("w");
      assert.equal(yard.stored(1)?.progress?.state, "waiting", queue);
      yard.restart();
      assert.deepEqual(yard.submit({ queue, request: 2 }), ["reply 2 refused queue_full"], queue);
    }
  });
});

describe("limits of accepting", () => {
  const settings = { ...defaultQueueSettings, maxWaiting: 2, maxBytes: 100 };

  test("a queue's length counts waiting tasks, not running ones", () => {
    const yard = new YardDriver({ queueDefaults: settings });
    yard.join("w");
    for (let count = 0; count < 3; count += 1) yard.submit();
    assert.deepEqual(yard.submit({ request: 1 }), ["reply 1 refused queue_full"]);
    assert.equal(yard.core.counters.limitsReached.of("queueLength"), 1);
    yard.done("w", 1);
    assert.deepEqual(yard.submit({ request: 2 }), ["reply 2 accepted 4"]);
  });

  test("a store without room: new tasks are refused, all else goes on, and they are accepted again", () => {
    const yard = new YardDriver();
    yard.submit({ key: "k" });
    yard.submit();
    yard.post("yard", { type: "store-room-changed", shortage: "The disk is full." });
    assert.deepEqual(yard.submit({ request: 1 }), ["reply 1 refused queue_full"]);
    assert.equal(yard.core.counters.limitsReached.of("diskRoom"), 1);
    assert.deepEqual(yard.submit({ key: "k", request: 2 }), ["reply 2 existing 1"]);
    assert.deepEqual(yard.join("w"), ["assign 1 to w as 1.1"]);
    assert.deepEqual(yard.done("w", 1), ["assign 2 to w as 1.2"]);
    yard.post("yard", { type: "store-room-changed", shortage: undefined });
    assert.deepEqual(yard.submit({ request: 3 }), ["reply 3 accepted 3"]);
  });

  test("queue bytes", () => {
    const yard = new YardDriver({ queueDefaults: settings });
    yard.submit({ payload: bodyOf(60) });
    assert.deepEqual(yard.submit({ payload: bodyOf(41), request: 1 }), ["reply 1 refused queue_full"]);
    assert.equal(yard.core.counters.limitsReached.of("queueBytes"), 1);
    assert.deepEqual(yard.submit({ payload: bodyOf(40), request: 2 }), ["reply 2 accepted 2"]);
  });

  test("payload size, key length, number of queues", () => {
    const yard = new YardDriver({ limits: { payloadBytes: 50, keyLength: 4, queues: 1 } });
    assert.deepEqual(yard.submit({ payload: bodyOf(51), request: 1 }), ["reply 1 refused payload_too_large"]);
    assert.deepEqual(yard.submit({ key: "abcde", request: 2 }), ["reply 2 refused bad_request"]);
    assert.deepEqual(yard.submit({ key: "abcd", request: 3 }), ["reply 3 accepted 1"]);
    assert.deepEqual(yard.submit({ queue: "b", request: 4 }), ["reply 4 refused queue_full"]);
    assert.deepEqual(yard.order("pause", "b", 5), ["reply 5 refused queue_full"]);
    const { limitsReached } = yard.core.counters;
    assert.deepEqual(
      ["payloadBytes", "keyLength", "queues"].map((name) => limitsReached.of(name)),
      [1, 1, 2],
    );
  });

  test("a refused submission leaves nothing behind", () => {
    const yard = new YardDriver({ limits: { payloadBytes: 50 } });
    yard.submit({ payload: bodyOf(51) });
    assert.deepEqual(yard.core.view.queues(), []);
    assert.deepEqual(yard.changes, [{ kind: "door", door: { name: "x", incarnation: 1, mark: 2 } }]);
    assert.equal(yard.core.liveTasks, 0);
  });
});
