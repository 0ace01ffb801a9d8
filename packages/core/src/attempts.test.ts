// Workers' reports on attempts: which count, which are refused, what a loss costs, and returns that
// cost nothing.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LossReason } from "./attempt-events.js";
import { defaultQueueSettings } from "./limits.js";
import { type AttemptNumber, attemptOf } from "./names.js";
import { bodyOf, YardDriver } from "./testing/yard-driver.js";

const attempt = (counter: number) => attemptOf(1, counter);
const stale = (yard: YardDriver) => yard.core.counters.staleResults.of("x");

describe("a lease counts for one worker and one attempt", () => {
  test("its result ends the task, once, and the repeated one is refused without a word in the story", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ replyTo: { address: "me", diesWithConnection: false } });
    assert.deepEqual(yard.done("w", 1, { request: 1 }), ["tell 1 done 3 bytes", "reply 1 granted 1"]);
    assert.deepEqual(yard.done("w", 1, { request: 2 }), ["reply 2 refused stale_attempt"]);
    assert.equal(stale(yard), 1);
    assert.deepEqual(yard.story(1), ["waiting submitted", "running assigned 1.1 w", "done done 1.1 w"]);
    assert.equal(yard.core.counters.outcomes.of("q", "done"), 1);
  });

  test("a result from another worker is refused, counted, and in the story", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.join("v");
    yard.submit();
    assert.deepEqual(yard.done("v", 1, { request: 1 }), ["reply 1 refused stale_attempt"]);
    assert.deepEqual(yard.done("v", 1, { request: 2, attempt: undefined }), [
      "reply 2 refused stale_attempt",
    ]);
    assert.equal(stale(yard), 2);
    assert.equal(yard.state(1), "running");
    assert.deepEqual(yard.story(1), [
      "waiting submitted",
      "running assigned 1.1 w",
      "running late: done refused 1.1 v",
      "running late: done refused v",
    ]);
  });

  test("a word about another attempt is refused, whatever it is", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    const other = { attempt: attempt(7), request: 1 };
    assert.deepEqual(yard.done("w", 1, other), ["reply 1 refused stale_attempt"]);
    assert.deepEqual(yard.fail("w", 1, other), ["reply 1 refused stale_attempt"]);
    assert.deepEqual(yard.lose("w", 1, "send_failed", other), ["reply 1 refused stale_attempt"]);
    assert.deepEqual(yard.beat("w", 1, 100, other), ["reply 1 refused stale_attempt"]);
    assert.equal(stale(yard), 4);
    assert.equal(yard.state(1), "running");
    assert.deepEqual(yard.story(1).slice(2), [
      "running late: done refused 1.7 w",
      "running late: failed refused 1.7 w",
      "running late: lost refused 1.7 w",
    ]);
  });

  test("a word about an unknown task is refused and counted", () => {
    const yard = new YardDriver();
    yard.join("w");
    assert.deepEqual(yard.done("w", 77, { request: 1, attempt: attempt(1) }), ["reply 1 refused not_found"]);
    assert.deepEqual(yard.beat("w", 77, 100, { request: 2, attempt: attempt(1) }), [
      "reply 2 refused not_found",
    ]);
    assert.equal(stale(yard), 2);
  });

  test("a word of a worker that nobody knows is refused", () => {
    const yard = new YardDriver();
    yard.submit();
    assert.deepEqual(yard.done("w", 1, { request: 1, attempt: attempt(1) }), [
      "reply 1 refused stale_attempt",
    ]);
  });

  test("where the dialect names only the task, the worker that holds it is enough", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    assert.deepEqual(yard.done("w", 1, { request: 1, attempt: undefined }), ["reply 1 granted 1"]);
    assert.equal(yard.state(1), "done");
  });

  test("what the door has not handed to the worker, the worker cannot have done", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    const forged = { attempt: undefined, isOfBefore: true };
    assert.deepEqual(yard.done("w", 1, { request: 1, ...forged }), ["reply 1 refused stale_attempt"]);
    assert.deepEqual(yard.fail("w", 1, { request: 2, ...forged }), ["reply 2 refused stale_attempt"]);
    assert.equal(yard.state(1), "running");
    yard.restart();
    yard.join("w");
    assert.deepEqual(yard.done("w", 1, { request: 3, ...forged }), ["reply 3 granted 1"]);
    assert.equal(yard.state(1), "done");
  });

  test("after a loss the old attempt is refused and its words are in the story, also after the end", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    const first = yard.attempts.get(1) as AttemptNumber;
    yard.leave("w", "silence");
    yard.join("v");
    yard.join("w");
    assert.deepEqual(yard.done("w", 1, { request: 1, attempt: first }), ["reply 1 refused stale_attempt"]);
    yard.done("v", 1);
    assert.deepEqual(yard.done("w", 1, { request: 2, attempt: first }), ["reply 2 refused stale_attempt"]);
    assert.deepEqual(yard.story(1), [
      "waiting submitted",
      "running assigned 1.1 w",
      "waiting lost: silence 1.1 w",
      "running assigned 1.2 v",
      "running late: done refused 1.1 w",
      "done done 1.2 v",
      "done late: done refused 1.1 w",
    ]);
  });

  test("a story that is too long loses its oldest entries first", () => {
    const yard = new YardDriver({ limits: { storyLength: 3 } });
    yard.join("w");
    yard.submit();
    yard.giveBack("w", 1, "undelivered");
    assert.deepEqual(yard.story(1), [
      "running assigned 1.1 w",
      "waiting returned: undelivered 1.1 w",
      "running assigned 1.2 w",
    ]);
  });
});

describe("loss", () => {
  const reasons: LossReason[] = [
    "connection_closed",
    "silence",
    "goodbye",
    "send_failed",
    "restarted",
    "reported",
    "forgotten",
    "door_lost",
  ];
  for (const reason of reasons) {
    test(`a worker lost by ${reason} loses its task to another at once`, () => {
      const yard = new YardDriver();
      yard.join("w");
      yard.submit();
      yard.join("v");
      assert.deepEqual(yard.leave("w", reason), ["assign 1 to v as 1.2"]);
      assert.equal(yard.core.counters.lostAttempts.of("x", reason), 1);
      assert.equal(yard.worker("w")?.state, "lost");
      assert.equal(yard.worker("w")?.lostReason, reason);
      assert.equal(yard.stored(1).progress?.losses, 1);
    });

    test(`an attempt lost by ${reason} goes to another worker, and its own is free`, () => {
      const yard = new YardDriver();
      yard.join("w");
      yard.submit();
      yard.join("v");
      assert.deepEqual(yard.lose("w", 1, reason, { request: 1 }), [
        "assign 1 to v as 1.2",
        "reply 1 granted 1",
      ]);
      assert.deepEqual(yard.submit(), ["assign 2 to w as 1.3"]);
    });
  }

  test("what a worker says as it goes is in the story of the task it held", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.post("x", { type: "worker-left", worker: "x/w" as never, reason: "reported", message: "disk full" });
    assert.equal(yard.story(1)[2], "waiting lost: reported: disk full 1.1 w");
  });

  test("it goes to the head of its queue", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.submit();
    yard.submit({ priority: 1 });
    yard.leave("w");
    assert.deepEqual(yard.join("v", { slots: 3 }), [
      "assign 3 to v as 1.2",
      "assign 1 to v as 1.3",
      "assign 2 to v as 1.4",
    ]);
  });

  test("another worker is preferred although it has more to do", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 5 });
    yard.join("v", { slots: 5 });
    for (let count = 0; count < 3; count += 1) yard.submit();
    yard.done("w", 3);
    assert.deepEqual(yard.lose("w", 1), ["assign 1 to v as 1.4"]);
    assert.deepEqual(yard.fail("v", 1, { asLoss: true }), []);
    assert.deepEqual(yard.wait(1000), ["assign 1 to w as 1.5"]);
  });

  test("where there is no other worker the same one gets it again", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    assert.deepEqual(yard.lose("w", 1), ["assign 1 to w as 1.2"]);
  });

  test("what a lost worker held goes back in its order", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 3 });
    for (let count = 0; count < 4; count += 1) yard.submit();
    assert.deepEqual(yard.leave("w"), []);
    assert.deepEqual(yard.join("v", { slots: 4 }), [
      "assign 1 to v as 1.4",
      "assign 2 to v as 1.5",
      "assign 3 to v as 1.6",
      "assign 4 to v as 1.7",
    ]);
  });

  test("the oldest of what a lost worker held goes out first to a free worker", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 3 });
    for (let count = 0; count < 3; count += 1) yard.submit();
    yard.join("v");
    yard.join("u");
    assert.deepEqual(yard.leave("w"), ["assign 1 to v as 1.4", "assign 2 to u as 1.5"]);
    assert.deepEqual(yard.done("v", 1), ["assign 3 to v as 1.6"]);
  });

  test("after the first loss a task goes out at once; then it waits a second, doubled each time up to a minute", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ attempts: 20 });
    yard.wait(yard.options.graceMs);
    const waits: number[] = [];
    for (let loss = 1; loss <= 10; loss += 1) {
      const at = yard.now.instant;
      const given = yard.lose("w", 1);
      if (given.length === 0) yard.wait(yard.nextMs ?? 0);
      assert.equal(yard.state(1), "running");
      waits.push(yard.now.instant - at);
    }
    assert.deepEqual(waits, [0, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  test("the wait has a fifth of jitter either way", () => {
    for (const [random, expected] of [
      [0, 800],
      [0.999_999, 1200],
    ] as const) {
      const yard = new YardDriver({ random: () => random });
      yard.join("w");
      yard.submit();
      yard.lose("w", 1);
      yard.lose("w", 1);
      assert.equal(yard.nextMs, expected);
      assert.equal(yard.stored(1).progress?.notBefore, yard.now.wall + expected);
    }
  });

  test("one that wakes from backoff goes to the head", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.lose("w", 1);
    yard.lose("w", 1);
    assert.equal(yard.why(1), "backoff");
    assert.deepEqual(yard.submit(), ["assign 2 to w as 1.3"]);
    yard.submit();
    yard.wait(1000);
    assert.deepEqual(yard.done("w", 2), ["assign 1 to w as 1.4"]);
  });

  test("the last of its attempts ends it as poison", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ attempts: 2, replyTo: { address: "me", diesWithConnection: false } });
    yard.lose("w", 1, "silence");
    assert.deepEqual(yard.leave("w", "connection_closed"), ["tell 1 failed poison"]);
    assert.deepEqual(yard.stored(1).progress?.error, {
      code: "poison",
      message: "Lost 2 times with its worker, the last time by connection_closed.",
    });
    assert.equal(yard.story(1).at(-1), "failed lost: connection_closed 1.2 w");
  });

  test("by default the fifth loss is the last", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    for (let loss = 1; loss <= 4; loss += 1) {
      yard.lose("w", 1);
      yard.wait(10_000);
      assert.equal(yard.state(1), "running");
    }
    yard.lose("w", 1);
    assert.equal(yard.state(1), "failed");
  });

  test("the late answer of the attempt that was the last straw is in the story", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ attempts: 1 });
    yard.leave("w");
    assert.equal(yard.state(1), "failed");
    yard.done("w", 1);
    assert.equal(yard.state(1), "failed");
    assert.equal(yard.story(1).at(-1), "failed late: done refused 1.1 w");
  });
});

describe("failure", () => {
  test("a result that comes with a failure is told with it, and kept", () => {
    const yard = new YardDriver();
    yard.submit({ replyTo: { address: "asker", diesWithConnection: false } });
    yard.join("w");
    assert.deepEqual(yard.fail("w", 1, { result: bodyOf(7) }), ["tell 1 failed 7 bytes broke"]);
    assert.equal(yard.stored(1).progress?.result?.size, 7);
  });

  test("by default the first failure ends the task", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ replyTo: { address: "me", diesWithConnection: false } });
    assert.deepEqual(yard.fail("w", 1, { request: 1 }), ["tell 1 failed broke", "reply 1 granted 1"]);
    assert.deepEqual(yard.stored(1).progress?.error, { code: "broke", message: "it broke" });
  });

  test("a retried failure waits like a loss, and does not count as one", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.join("v");
    yard.submit({ failures: 3 });
    assert.deepEqual(yard.fail("w", 1), ["assign 1 to v as 1.2"]);
    assert.deepEqual(yard.fail("v", 1), []);
    assert.equal(yard.why(1), "backoff");
    assert.deepEqual(yard.wait(999), []);
    assert.deepEqual(yard.wait(1), ["assign 1 to w as 1.3"]);
    assert.equal(yard.stored(1).progress?.losses, 0);
    assert.equal(yard.stored(1).progress?.failures, 2);
    yard.fail("w", 1);
    assert.equal(yard.state(1), "failed");
    assert.deepEqual(yard.story(1), [
      "waiting submitted",
      "running assigned 1.1 w",
      "waiting failed: it broke 1.1 w",
      "running assigned 1.2 v",
      "waiting failed: it broke 1.2 v",
      "running assigned 1.3 w",
      "failed failed 1.3 w",
    ]);
  });

  test("the worker's message is cut to what a record may hold, and counted", () => {
    const yard = new YardDriver({ limits: { messageLength: 4 } });
    yard.join("w");
    yard.submit({ failures: 2 });
    yard.fail("w", 1);
    yard.fail("w", 1, { asLoss: true });
    yard.fail("w", 1);
    assert.deepEqual(yard.stored(1).progress?.error, { code: "brok", message: "it b" });
    assert.deepEqual(
      yard.story(1).filter((line) => line.startsWith("waiting")),
      ["waiting submitted", "waiting failed: it b 1.1 w", "waiting lost: reported: it b 1.2 w"],
    );
    assert.equal(yard.core.counters.limitsReached.of("messageLength"), 5);
  });

  test("a failure counts as a loss where the dialect wants another worker to try", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.join("v");
    assert.deepEqual(yard.fail("w", 1, { asLoss: true }), ["assign 1 to v as 1.2"]);
    assert.equal(yard.stored(1).progress?.losses, 1);
    assert.equal(yard.core.counters.lostAttempts.of("x", "reported"), 1);
    assert.equal(yard.story(1)[2], "waiting lost: reported: it broke 1.1 w");
  });
});

describe("an attempt's time limit", () => {
  test("counts from assignment; the task goes to another, the slot stays taken until the worker answers", () => {
    const yard = new YardDriver();
    yard.submit({ attemptTimeoutMs: 1000 });
    yard.wait(5000);
    yard.join("w");
    const first = yard.attempts.get(1) as AttemptNumber;
    assert.deepEqual(yard.wait(999), []);
    assert.deepEqual(yard.wait(1), ["revoke 1 from w as 1.1: time_limit"]);
    assert.equal(yard.state(1), "waiting");
    assert.equal(yard.stored(1).progress?.losses, 1);
    assert.equal(yard.worker("w")?.running, 1);
    assert.deepEqual(yard.join("v"), ["assign 1 to v as 1.2"]);
    assert.deepEqual(yard.submit(), []);
    assert.deepEqual(yard.done("w", 1, { attempt: first, request: 1 }), [
      "reply 1 refused stale_attempt",
      "assign 2 to w as 1.3",
    ]);
    assert.ok(yard.story(1).includes("running late: done refused 1.1 w"));
  });

  test("the answer frees the slot also where the dialect names only the task", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ attemptTimeoutMs: 1000 });
    yard.submit();
    yard.wait(1000);
    assert.equal(yard.state(1), "waiting");
    assert.deepEqual(yard.done("w", 1, { attempt: undefined, request: 1 }), [
      "reply 1 refused stale_attempt",
      "assign 1 to w as 1.2",
    ]);
  });

  test("an answer that names no attempt is about the revoked one, not about the same task given out again", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 2, runsAtOnce: 2 });
    yard.submit({ attemptTimeoutMs: 1000 });
    assert.deepEqual(yard.wait(1000), ["revoke 1 from w as 1.1: time_limit", "assign 1 to w as 1.2"]);
    assert.deepEqual(yard.done("w", 1, { attempt: undefined, request: 1 }), [
      "reply 1 refused stale_attempt",
    ]);
    assert.equal(yard.state(1), "running");
    assert.deepEqual(yard.done("w", 1, { attempt: undefined, request: 2 }), ["reply 2 granted 1"]);
    assert.equal(yard.state(1), "done");
  });

  test("a failure, a return or a loss reported late frees the slot too; a beat does not", () => {
    for (const answer of ["fail", "lose", "giveBack"] as const) {
      const yard = new YardDriver();
      yard.join("w");
      yard.submit({ attemptTimeoutMs: 1000, attempts: 1 });
      yard.submit();
      yard.wait(1000);
      assert.equal(yard.state(1), "failed");
      assert.deepEqual(yard.beat("w", 1, 500, { request: 1 }), ["reply 1 beat 0 cancel"]);
      const given =
        answer === "fail"
          ? yard.fail("w", 1)
          : answer === "lose"
            ? yard.lose("w", 1)
            : yard.giveBack("w", 1, "busy");
      assert.deepEqual(given, ["assign 2 to w as 1.2"]);
    }
  });

  test("a worker that reconnects has its slot back", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ attemptTimeoutMs: 1000, attempts: 1 });
    yard.submit();
    yard.wait(1000);
    yard.leave("w");
    assert.deepEqual(yard.join("w"), ["assign 2 to w as 1.2"]);
    assert.equal(yard.stored(2).progress?.losses, 0);
  });

  test("the late answer of a revoked last attempt is in the story", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ attemptTimeoutMs: 1000, attempts: 1 });
    yard.wait(1000);
    yard.done("w", 1);
    assert.deepEqual(yard.story(1).slice(2), [
      "failed lost: time_limit 1.1 w",
      "failed late: done refused 1.1 w",
    ]);
  });

  test("for a worker with a queue of its own it counts from when the task can have begun", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 3, runsAtOnce: 1 });
    yard.submit({ attemptTimeoutMs: 1000 });
    yard.submit({ attemptTimeoutMs: 1000 });
    assert.deepEqual(yard.wait(900), []);
    yard.done("w", 1);
    assert.deepEqual(yard.wait(999), []);
    assert.deepEqual(yard.wait(1).slice(0, 1), ["revoke 2 from w as 1.2: time_limit"]);
  });

  test("a revoked attempt that has not answered may still be at work, so the next has not begun", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 2, runsAtOnce: 1 });
    yard.submit({ attemptTimeoutMs: 1000, attempts: 1 });
    yard.submit({ attemptTimeoutMs: 1000, attempts: 1 });
    yard.wait(1000);
    assert.deepEqual(yard.wait(10_000), []);
    yard.done("w", 1);
    assert.deepEqual(yard.wait(1000), ["revoke 2 from w as 1.2: time_limit"]);
  });

  test("one that was cancelled before it began has no limit: its slot stays taken until the worker answers", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 2, runsAtOnce: 1 });
    yard.submit();
    yard.submit({ attemptTimeoutMs: 1000 });
    yard.cancel(2);
    yard.done("w", 1);
    yard.wait(10_000);
    assert.equal(yard.worker("w")?.running, 1);
    yard.done("w", 2);
    assert.equal(yard.worker("w")?.running, 0);
  });

  test("a queue's own limit is that of its tasks", () => {
    const settings = { ...defaultQueueSettings, attemptTimeoutMs: 700, attempts: 1, failures: 2 };
    const yard = new YardDriver({ queues: new Map([["q", settings]]) });
    yard.join("w");
    yard.submit();
    assert.deepEqual(yard.stored(1).head.policy, {
      attempts: 1,
      failures: 2,
      attemptTimeoutMs: 700,
      waitingMsMax: 0,
    });
    assert.deepEqual(yard.wait(700), ["revoke 1 from w as 1.1: time_limit"]);
  });

  test("a beat does not extend it", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ attemptTimeoutMs: 1000 });
    yard.wait(900);
    assert.deepEqual(yard.beat("w", 1, 60_000, { request: 1 }), ["reply 1 beat 60000"]);
    assert.deepEqual(yard.wait(100).slice(0, 1), ["revoke 1 from w as 1.1: time_limit"]);
  });
});

describe("an attempt that comes back untried costs nothing", () => {
  for (const reason of ["busy", "balance", "undelivered", "does_not_fit", "drain", "stopping"] as const) {
    test(`${reason}: no try is counted, and it goes to the head`, () => {
      const yard = new YardDriver();
      yard.join("w");
      yard.submit({ attempts: 1, failures: 1 });
      yard.submit();
      yard.drain("w");
      assert.deepEqual(yard.giveBack("w", 1, reason), ["drained w"]);
      assert.deepEqual(yard.join("y/v"), ["y: assign 1 to y/v as 1.2"]);
      const { losses, failures } = yard.stored(1).progress ?? {};
      assert.deepEqual([losses, failures], [0, 0]);
      assert.equal(yard.core.counters.returnedAttempts.of("x", reason), 1);
      assert.equal(yard.story(1)[2], `waiting returned: ${reason} 1.1 w`);
    });
  }

  test("busy: offered nothing for its time", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    assert.deepEqual(yard.giveBack("w", 1, "busy", 1000), []);
    assert.equal(yard.why(1), "all_busy");
    assert.deepEqual(yard.submit(), []);
    assert.deepEqual(yard.wait(999), []);
    assert.deepEqual(yard.wait(1), ["assign 1 to w as 1.2"]);
  });

  test("busy: or until its next beat", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.giveBack("w", 1, "busy", 1000);
    assert.deepEqual(yard.beatWorker("w"), ["assign 1 to w as 1.2"]);
    assert.equal(yard.nextMs === undefined || yard.nextMs > 1000, true);
  });

  test("busy: another worker gets it at once", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.join("v");
    assert.deepEqual(yard.giveBack("w", 1, "busy", 1000), ["assign 1 to v as 1.2"]);
  });

  test("does_not_fit: only workers of another door get it, and others are not held up", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.join("v");
    yard.submit();
    assert.deepEqual(yard.giveBack("w", 1, "does_not_fit"), []);
    assert.equal(yard.why(1), "does_not_fit");
    assert.deepEqual(yard.submit(), ["assign 2 to v as 1.2"]);
    assert.deepEqual(yard.submit(), ["assign 3 to w as 1.3"]);
    assert.deepEqual(yard.join("y/u"), ["y: assign 1 to y/u as 1.4"]);
    assert.deepEqual(yard.giveBack("y/u", 1, "does_not_fit"), []);
    assert.equal(yard.why(1), "does_not_fit");
    yard.join("z/t", { slots: 2 });
    assert.equal(yard.state(1), "running");
  });

  test("does_not_fit: a task kept apart keeps its place for those it fits", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit();
    yard.submit({ priority: 1 });
    yard.submit();
    assert.deepEqual(yard.giveBack("w", 1, "does_not_fit"), ["assign 2 to w as 1.2"]);
    assert.deepEqual(yard.join("y/u", { slots: 3 }), [
      "y: assign 1 to y/u as 1.3",
      "y: assign 3 to y/u as 1.4",
    ]);
  });
});
