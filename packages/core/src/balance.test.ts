// Balance: tasks that have not begun are named to be taken back when others could start them.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { YardDriver } from "./testing/yard-driver.js";

const many = { slots: 100, runsAtOnce: 1, givesBack: true };

/** A worker that holds tasks 1 to `count` and works on the first. */
function loaded(count: number, name = "a"): YardDriver {
  const yard = new YardDriver({ graceMs: 0 });
  yard.wait(0);
  yard.join(name, many);
  for (let index = 0; index < count; index += 1) yard.submit();
  return yard;
}

/** The worker returns the tasks that were last recalled. */
function takeBack(yard: YardDriver, name: string): string[] {
  const given: string[] = [];
  for (const effect of yard.effects) {
    if (effect.type !== "recall") continue;
    for (const { task } of effect.attempts) given.push(...yard.giveBack(name, task, "balance"));
  }
  return given;
}

describe("balance", () => {
  test("after a second it recalls the newest tasks that have not begun, as many as make the loads equal", () => {
    const yard = loaded(6);
    assert.deepEqual(yard.join("b", many), []);
    assert.deepEqual(yard.wait(999), []);
    assert.deepEqual(yard.wait(1), ["recall 6 as 1.6, 5 as 1.5, 4 as 1.4 from a"]);
    assert.deepEqual(yard.effects, [
      {
        type: "recall",
        door: "x",
        worker: "x/a",
        attempts: [6, 5, 4].map((task) => ({ task, attempt: 2 ** 32 + task })),
      },
    ]);
    assert.deepEqual(takeBack(yard, "a"), [
      "assign 6 to b as 1.7",
      "assign 5 to b as 1.8",
      "assign 4 to b as 1.9",
    ]);
    assert.deepEqual([yard.worker("a")?.running, yard.worker("b")?.running], [3, 3]);
    assert.deepEqual(yard.wait(10_000), []);
    assert.equal(yard.stored(6).progress?.losses, 0);
  });

  test("several workers end with loads that differ by at most one, and then nothing more is recalled", () => {
    const yard = loaded(11);
    for (const name of ["b", "c", "d"]) yard.join(name, many);
    for (let count = 0; count < 10; count += 1) {
      yard.wait(1000);
      takeBack(yard, "a");
    }
    const loads = ["a", "b", "c", "d"].map((name) => yard.worker(name)?.running ?? 0);
    assert.ok(Math.max(...loads) - Math.min(...loads) <= 1, `loads ${loads}`);
    assert.equal(
      loads.reduce((sum, load) => sum + load),
      11,
    );
    assert.deepEqual(yard.wait(60_000), []);
  });

  test("tasks that have begun by the worker's own count are not recalled", () => {
    const yard = loaded(4);
    yard.beatWorker("a", 1);
    yard.join("b", many);
    assert.deepEqual(yard.wait(1000), ["recall 4 as 1.4 from a"]);
  });

  test("a worker that runs several at once has begun as many", () => {
    const yard = new YardDriver();
    yard.join("a", { ...many, runsAtOnce: 3 });
    for (let count = 0; count < 4; count += 1) yard.submit();
    yard.join("b", many);
    assert.deepEqual(yard.wait(1000), ["recall 4 as 1.4 from a"]);
  });

  test("nothing is recalled if loads differ by one", () => {
    const yard = loaded(1);
    yard.join("b", many);
    assert.deepEqual(yard.wait(10_000), []);
  });

  test("a task is recalled only once, although the worker does not answer", () => {
    const yard = loaded(3);
    yard.join("b", many);
    assert.deepEqual(yard.wait(1000), ["recall 3 as 1.3 from a"]);
    assert.deepEqual(yard.wait(20_000), []);
    yard.done("a", 1);
    assert.deepEqual(yard.wait(20_000), []);
    yard.done("a", 2);
    yard.done("a", 3);
    assert.equal(yard.state(3), "done");
  });

  test("a recalled task that is not back yet counts as gone from its worker", () => {
    const yard = loaded(12);
    yard.join("b", many);
    assert.deepEqual(yard.wait(1000).length, 1);
    assert.deepEqual(yard.wait(10_000), []);
  });

  test("nothing is recalled from a worker that gives nothing back, or no longer does", () => {
    const yard = new YardDriver();
    yard.join("a", { ...many, givesBack: false });
    for (let count = 0; count < 4; count += 1) yard.submit();
    yard.join("b", many);
    assert.deepEqual(yard.wait(10_000), []);
    const other = loaded(4);
    other.join("a", { ...many, givesBack: false });
    other.join("b", many);
    assert.deepEqual(other.wait(10_000), []);
  });

  test("a worker that dies after a recall loses all its tasks, and nothing is recalled again", () => {
    const yard = loaded(4);
    yard.join("b", { ...many, slots: 2 });
    yard.wait(1000);
    assert.deepEqual(yard.leave("a"), ["assign 1 to b as 1.5", "assign 2 to b as 1.6"]);
    assert.deepEqual(yard.giveBack("a", 4, "balance"), []);
    assert.deepEqual(yard.wait(10_000), []);
  });

  test("if the receiver dies after a recall, tasks that come back go to any worker with room", () => {
    const yard = loaded(4);
    yard.join("b", many);
    yard.wait(1000);
    yard.leave("b");
    assert.equal(yard.giveBack("a", 4, "balance")[0], "assign 4 to a as 1.5");
  });

  test("a worker that becomes free starts a recall as one that joins does", () => {
    const yard = new YardDriver();
    yard.join("a", many);
    yard.join("b", { slots: 1 });
    for (let count = 0; count < 4; count += 1) yard.submit();
    assert.deepEqual(yard.wait(10_000), []);
    yard.done("b", 2);
    assert.deepEqual(yard.wait(1000), ["recall 4 as 1.4 from a"]);
  });

  test("a beat that reports more queued tasks than were known starts a recall", () => {
    const yard = new YardDriver();
    yard.join("a", many);
    yard.submit();
    yard.beatWorker("a", 0);
    for (let count = 0; count < 3; count += 1) yard.submit();
    yard.join("b", many);
    assert.deepEqual(yard.wait(5000), []);
    yard.beatWorker("a", 3);
    assert.deepEqual(yard.wait(1000), ["recall 4 as 1.4, 3 as 1.3 from a"]);
  });

  test("nothing is recalled while the queue is paused, but when it goes on", () => {
    const yard = loaded(4);
    yard.order("pause");
    yard.join("b", many);
    assert.deepEqual(yard.wait(5000), []);
    yard.order("resume");
    assert.deepEqual(yard.wait(1000), ["recall 4 as 1.4, 3 as 1.3 from a"]);
  });

  test("a task more urgent than what has begun is not recalled: the worker has interrupted its work for it", () => {
    const yard = new YardDriver();
    yard.join("a", many);
    yard.submit();
    yard.submit();
    yard.submit({ priority: 1 });
    yard.beatWorker("a", 2);
    yard.join("b", many);
    assert.deepEqual(yard.wait(1000), ["recall 2 as 1.2 from a"]);
  });

  test("workers with one slot are sent one task each: the rest would only go back", () => {
    const yard = loaded(50);
    yard.join("b", { slots: 1 });
    yard.join("c", { slots: 1 });
    assert.deepEqual(yard.wait(1000), ["recall 50 as 1.50, 49 as 1.49 from a"]);
    assert.deepEqual(takeBack(yard, "a"), ["assign 50 to b as 1.51", "assign 49 to c as 1.52"]);
    assert.deepEqual(yard.wait(10_000), []);
  });

  test("a claim counts as much as it asks for", () => {
    const yard = loaded(50);
    yard.joinPuller("p");
    yard.want("p", { max: 3, forMs: 5000 });
    assert.deepEqual(yard.wait(1000), ["recall 50 as 1.50, 49 as 1.49, 48 as 1.48 from a"]);
  });

  test("what does not fit the worker that is free stays where it is", () => {
    const yard = new YardDriver();
    yard.join("y/small");
    for (let count = 0; count < 4; count += 1) yard.submit();
    yard.giveBack("y/small", 1, "does_not_fit");
    for (const task of [2, 3]) yard.giveBack("y/small", task, "does_not_fit");
    yard.join("a", many);
    yard.done("y/small", 4);
    assert.deepEqual(yard.wait(10_000), []);
    yard.join("z/b");
    assert.equal(yard.wait(1000).length, 1);
  });
});
