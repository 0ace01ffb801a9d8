// How a task ends: delivering the outcome, settling into history, and eviction from history.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { historySegmentSize } from "./history-segment.js";
import type { AttemptNumber, TaskId, WorkerId } from "./names.js";
import { bodyOf, YardDriver } from "./testing/yard-driver.js";

const hourMs = 3_600_000;
const replyTo = { address: "me", diesWithConnection: false };

function told(yard: YardDriver, task: number, door = "x"): string[] {
  return yard.post(door, { type: "outcomes-told", tasks: [task as TaskId] });
}

function undelivered(yard: YardDriver, task: number, again: boolean): string[] {
  return yard.post("x", { type: "outcome-undelivered", task: task as TaskId, again });
}

function finished(yard: YardDriver): void {
  yard.join("w");
  yard.submit({ replyTo });
  yard.done("w", 1);
}

describe("telling", () => {
  test("a telling carries the task as it came in and its outcome, to the door it came by", () => {
    const yard = new YardDriver();
    const envelope = new Uint8Array([1, 2]);
    yard.join("y/w");
    yard.submit({ replyTo, envelope });
    yard.done("y/w", 1);
    const { head, progress } = yard.stored(1);
    assert.deepEqual(head.envelope, envelope);
    assert.deepEqual(yard.effects, [
      {
        type: "tell",
        door: "x",
        task: head,
        outcome: { state: "done", result: progress?.result, error: undefined },
      },
    ]);
    assert.deepEqual([progress?.told, progress?.settled], [false, 0]);
  });

  test("a task whose outcome was told is settled, and not told again", () => {
    const yard = new YardDriver();
    finished(yard);
    assert.deepEqual(told(yard, 1), []);
    assert.deepEqual([yard.stored(1).progress?.told, yard.stored(1).progress?.settled], [true, 1]);
    assert.deepEqual(told(yard, 1), []);
    assert.deepEqual(yard.wait(2 * hourMs), []);
    assert.deepEqual(yard.post("x", { type: "door-opened", incarnation: 2 }), []);
    assert.equal(yard.core.liveTasks, 0);
  });

  test("only the door it came by can say so", () => {
    const yard = new YardDriver();
    finished(yard);
    told(yard, 1, "y");
    assert.equal(yard.stored(1).progress?.told, false);
  });

  test("undelivered, it is told again after a second doubled each time, the same, until its time is over", () => {
    const yard = new YardDriver();
    finished(yard);
    const first = yard.effects;
    const tellings: number[] = [];
    for (let count = 0; count < 4; count += 1) {
      undelivered(yard, 1, true);
      const at = yard.now.instant;
      for (;;) {
        yard.pass(yard.nextMs ?? 0);
        if (yard.timeout().length > 0) break;
      }
      assert.deepEqual(yard.effects, first);
      tellings.push(yard.now.instant - at);
    }
    assert.deepEqual(tellings, [1000, 2000, 4000, 8000]);
    yard.wait(hourMs);
    const { progress } = yard.stored(1);
    assert.deepEqual([progress?.told, progress?.settled], [false, 1]);
  });

  test("a repetition that would come after its time is over is left out", () => {
    const yard = new YardDriver();
    finished(yard);
    yard.wait(hourMs - 500);
    undelivered(yard, 1, true);
    assert.deepEqual(yard.wait(500), []);
    assert.equal(yard.stored(1).progress?.settled, 1);
  });

  test("a client that is gone leaves it readable for its time, untold", () => {
    const yard = new YardDriver();
    finished(yard);
    undelivered(yard, 1, false);
    assert.deepEqual(yard.wait(hourMs - 1), []);
    assert.equal(yard.stored(1).progress?.settled, 0);
    assert.deepEqual(yard.wait(1), []);
    const { progress } = yard.stored(1);
    assert.deepEqual([progress?.told, progress?.settled], [false, 1]);
  });

  test("a door that says nothing is waited for until that time is over", () => {
    const yard = new YardDriver();
    finished(yard);
    yard.wait(hourMs);
    assert.equal(yard.stored(1).progress?.settled, 1);
  });

  test("a new incarnation of the door is told what was not", () => {
    const yard = new YardDriver();
    finished(yard);
    yard.submit({ replyTo });
    yard.cancel(2);
    told(yard, 2);
    assert.deepEqual(yard.post("x", { type: "door-opened", incarnation: 2 }), ["tell 1 done 3 bytes"]);
  });

  test("nobody to tell: settled at once", () => {
    const yard = new YardDriver();
    yard.submit();
    yard.cancel(1);
    assert.deepEqual([yard.stored(1).progress?.told, yard.stored(1).progress?.settled], [false, 1]);
  });

  test("beyond the limit of a door its oldest is settled untold; other doors keep theirs", () => {
    const yard = new YardDriver({ limits: { untold: 2 } });
    for (const door of ["x", "x", "y", "x"]) yard.submit({ door, replyTo });
    yard.cancel(2);
    yard.cancel(1);
    assert.deepEqual(yard.cancel(3), ["y: tell 3 cancelled cancelled"]);
    assert.equal(yard.core.counters.limitsReached.of("untold"), 0);
    assert.deepEqual(yard.cancel(4), ["tell 4 cancelled cancelled"]);
    assert.equal(yard.core.counters.limitsReached.of("untold"), 1);
    assert.deepEqual(
      [1, 2, 3, 4].map((task) => yard.stored(task).progress?.settled),
      [0, 1, 0, 0],
    );
    assert.deepEqual(told(yard, 3, "y"), []);
    assert.equal(yard.stored(3).progress?.told, true);
    yard.wait(2 * hourMs);
    assert.equal(yard.core.liveTasks, 0);
  });
});

describe("telling where the address ends with the connection", () => {
  function finishedThere(): YardDriver {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ replyTo: { address: "me", diesWithConnection: true } });
    assert.deepEqual(yard.done("w", 1), ["tell 1 done 3 bytes"]);
    return yard;
  }

  function recorded(yard: YardDriver): unknown[] {
    const { progress } = yard.stored(1);
    return [progress?.told, progress?.settled];
  }

  test("the outcome is recorded as told at once, and when it was told no more is written", () => {
    const yard = finishedThere();
    assert.deepEqual(recorded(yard), [true, 1]);
    assert.equal(yard.core.view.liveTask(1 as TaskId)?.progress?.told, false);
    assert.deepEqual(told(yard, 1), []);
    assert.deepEqual(
      yard.changes.map(({ kind }) => kind),
      ["door"],
    );
    assert.equal(yard.core.liveTasks, 0);
  });

  test("if the client was gone, the record is corrected at once, and the core answers for the task until that is committed", () => {
    const yard = finishedThere();
    assert.deepEqual(undelivered(yard, 1, false), []);
    assert.deepEqual(recorded(yard), [false, 1]);
    assert.equal(yard.core.view.liveTask(1 as TaskId)?.progress?.told, false);
    assert.deepEqual(yard.wait(2 * hourMs), []);
  });

  test("a client without room for the outcome is told again", () => {
    const yard = finishedThere();
    undelivered(yard, 1, true);
    assert.deepEqual(
      yard.changes.map(({ kind }) => kind),
      ["door"],
      "nothing is written for it",
    );
    assert.deepEqual(yard.wait(1500), ["tell 1 done 3 bytes"]);
    told(yard, 1);
    assert.deepEqual(recorded(yard), [true, 1]);
    assert.equal(yard.core.liveTasks, 0);
  });

  test("if a client never has room, the record is corrected when its time is over", () => {
    const yard = finishedThere();
    yard.wait(hourMs);
    assert.deepEqual(recorded(yard), [false, 1]);
  });

  test("a large result enters history only when it was told, so that it is not trimmed before", () => {
    const yard = new YardDriver();
    yard.join("w");
    yard.submit({ replyTo: { address: "me", diesWithConnection: true } });
    const attempt = yard.attempts.get(1);
    const worker = "x/w" as WorkerId;
    yard.post("x", { type: "attempt-done", worker, task: 1 as TaskId, attempt, result: bodyOf(4097) });
    assert.deepEqual(recorded(yard), [false, 0]);
    told(yard, 1);
    assert.deepEqual(recorded(yard), [true, 1]);
  });

  test("when we stop, a client that had no room is recorded as not told", () => {
    const yard = finishedThere();
    undelivered(yard, 1, true);
    yard.post("yard", { type: "yard-closed" });
    assert.deepEqual(recorded(yard), [false, 1]);
  });

  test("many corrected records do not evict tasks that may still get a late answer", () => {
    const yard = new YardDriver({ limits: { lingering: 1 } });
    yard.join("w");
    yard.submit({ attempts: 1 });
    const attempt = yard.attempts.get(1) as AttemptNumber;
    yard.leave("w", "silence");
    yard.join("v");
    for (let task = 2; task < 400; task++) {
      yard.submit({ replyTo: { address: "me", diesWithConnection: true } });
      yard.done("v", task);
      undelivered(yard, task, false);
    }
    assert.ok(yard.core.liveTasks < 300, `${yard.core.liveTasks} live tasks`);
    yard.join("w");
    assert.deepEqual(yard.done("w", 1, { request: 1, attempt }), ["reply 1 refused stale_attempt"]);
  });

  test("after a restart nobody is told", () => {
    const yard = finishedThere();
    assert.deepEqual(yard.restart(), []);
    assert.deepEqual(yard.post("x", { type: "door-opened", incarnation: 2 }), []);
  });
});

describe("lingering", () => {
  test("beyond the limit the oldest is let go, and its late answer is not found", () => {
    const yard = new YardDriver({ limits: { lingering: 1 } });
    yard.join("w", { slots: 2 });
    yard.submit({ attempts: 1 });
    yard.submit({ attempts: 1 });
    yard.lose("w", 1);
    assert.equal(yard.core.liveTasks, 2);
    yard.lose("w", 2);
    assert.equal(yard.core.liveTasks, 1);
    assert.deepEqual(yard.done("w", 1, { request: 1 }), ["reply 1 refused not_found"]);
    assert.deepEqual(yard.done("w", 2, { request: 2 }), ["reply 2 refused stale_attempt"]);
  });
});

describe("retention", () => {
  const generous = { bytes: 1e9, ageMs: 1e9, count: 1e9 };
  const settle = (yard: YardDriver, count: number, bytes = 0) => {
    for (let index = 0; index < count; index += 1) {
      yard.submit({ payload: bodyOf(bytes) });
      yard.cancel(yard.store.lastTask);
    }
  };

  test("by count: whole segments of the oldest go", () => {
    const yard = new YardDriver({ retention: { ...generous, count: 2 * historySegmentSize } });
    settle(yard, 2 * historySegmentSize);
    assert.equal(yard.store.tasks.size, 512);
    settle(yard, 1);
    assert.ok(yard.changes.some((change) => change.kind === "history-trimmed"));
    assert.ok(yard.store.tasks.size <= 512 && yard.store.tasks.size > 256, `${yard.store.tasks.size} kept`);
    assert.equal(yard.store.tasks.has(1 as TaskId), false);
    settle(yard, 1000);
    assert.ok(yard.store.tasks.size <= 512, `${yard.store.tasks.size} kept`);
  });

  test("by count: a small one is kept to as well", () => {
    const yard = new YardDriver({ retention: { ...generous, count: 32 } });
    settle(yard, 300);
    assert.ok(yard.store.tasks.size <= 32 && yard.store.tasks.size >= 28, `${yard.store.tasks.size} kept`);
    assert.equal(yard.store.tasks.has(300 as TaskId), true);
  });

  test("by bytes", () => {
    const yard = new YardDriver({ retention: { ...generous, bytes: 100_000 } });
    settle(yard, 100, 9_488);
    assert.ok(yard.store.tasks.size <= 10 && yard.store.tasks.size >= 9, `${yard.store.tasks.size} kept`);
    assert.equal(yard.store.tasks.has(100 as TaskId), true);
  });

  test("by bytes: one task that is larger than all that is allowed is kept until the next", () => {
    const yard = new YardDriver({ retention: { ...generous, bytes: 1000 } });
    settle(yard, 1, 5000);
    assert.equal(yard.store.tasks.size, 1);
    settle(yard, 1);
    assert.deepEqual([...yard.store.tasks.keys()], [2]);
  });

  test("by age, when it is over and not before", () => {
    const yard = new YardDriver({ retention: { ...generous, ageMs: 50_000 } });
    settle(yard, 1);
    yard.wait(30_000);
    settle(yard, 1);
    yard.wait(49_999);
    assert.equal(yard.store.tasks.size, 2);
    yard.wait(1);
    assert.deepEqual(yard.changes, [{ kind: "history-trimmed", through: 0 }]);
    assert.equal(yard.store.tasks.size, 0);
    settle(yard, 1);
    assert.ok(
      (yard.stored(3).progress?.settled ?? 0) > historySegmentSize,
      "a trimmed segment is not used again",
    );
  });

  test("what lives is never let go", () => {
    const yard = new YardDriver({ retention: { bytes: 600, ageMs: 100, count: 1 } });
    yard.join("w");
    yard.submit();
    yard.submit();
    yard.submit({ replyTo });
    yard.cancel(3);
    settle(yard, 20);
    yard.wait(10_000);
    assert.deepEqual([...yard.store.tasks.keys()], [1, 2, 3]);
  });

  test("is taken up again after a restart", () => {
    const yard = new YardDriver({ retention: { ...generous, count: 600 } });
    settle(yard, 590);
    yard.restart();
    settle(yard, 100);
    assert.ok(yard.store.tasks.size <= 600 && yard.store.tasks.size > 300, `${yard.store.tasks.size} kept`);
    assert.equal(yard.store.tasks.has(690 as TaskId), true);
    assert.equal(yard.store.tasks.has(1 as TaskId), false);
  });
});
