// Groups: they take turns among tasks of equal priority, and each runs at most a number of tasks.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { defaultQueueSettings } from "./limits.js";
import type { TaskId } from "./names.js";
import { YardDriver } from "./testing/yard-driver.js";

const assigned = (effects: readonly string[]) => effects.filter((effect) => effect.startsWith("assign"));

/** The tasks of the next assignments, with one worker that finishes one after the other. */
function order(yard: YardDriver, first: number, count: number): number[] {
  const tasks = [first];
  while (tasks.length < count) {
    const next = assigned(yard.done("w", tasks.at(-1) as number))[0] ?? "";
    tasks.push(Number(next.split(" ")[1]));
  }
  return tasks;
}

describe("turns", () => {
  test("groups of equal priority take turns, whatever they submitted first", () => {
    const yard = new YardDriver();
    for (const group of ["a", "a", "a", "a", "b", "b", "c"]) yard.submit({ group });
    yard.join("w");
    assert.deepEqual(order(yard, 1, 7), [1, 5, 7, 2, 6, 3, 4]);
  });

  test("tasks without a group take turns as one group", () => {
    const yard = new YardDriver();
    yard.submit();
    yard.submit();
    yard.submit();
    for (const group of ["a", "a"]) yard.submit({ group });
    yard.join("w");
    assert.deepEqual(order(yard, 1, 5), [1, 4, 2, 5, 3]);
  });

  test("a higher priority goes first, in any group", () => {
    const yard = new YardDriver();
    yard.submit({ group: "a" });
    yard.submit({ group: "a", priority: 5 });
    yard.submit({ group: "b", priority: 1 });
    yard.submit({ group: "a", priority: 1 });
    yard.submit({ group: "b", priority: 5 });
    yard.join("w");
    assert.deepEqual(order(yard, 2, 5), [2, 5, 4, 3, 1]);
  });

  test("a cancelled task costs its group no turn", () => {
    const yard = new YardDriver();
    for (const group of ["a", "a", "b", "b"]) yard.submit({ group });
    yard.cancel(1);
    yard.join("w");
    assert.deepEqual(order(yard, 2, 3), [2, 3, 4]);
  });

  test("a retried task goes first in its group, and waits for the group's turn", () => {
    const yard = new YardDriver();
    for (const group of ["a", "a", "b", "b"]) yard.submit({ group });
    yard.join("w");
    assert.deepEqual(assigned(yard.lose("w", 1)), ["assign 3 to w as 1.2"]);
    assert.deepEqual(order(yard, 3, 4), [3, 1, 4, 2]);
  });

  test("a group survives a restart", () => {
    const yard = new YardDriver();
    for (const group of ["a", "a", "b"]) yard.submit({ group });
    yard.restart();
    yard.join("w");
    assert.deepEqual(order(yard, 1, 3), [1, 3, 2]);
  });

  test("a group is forgotten with its last task", () => {
    const yard = new YardDriver();
    yard.submit({ group: "a" });
    yard.submit({ group: "b" });
    yard.cancel(2);
    assert.equal(yard.queue()?.groups, 1);
    yard.join("w");
    assert.equal(yard.queue()?.groups, 1);
    yard.done("w", 1);
    assert.equal(yard.queue()?.groups, 0);
  });

  test("a key that is empty or too long is refused", () => {
    const yard = new YardDriver();
    assert.deepEqual(yard.submit({ group: "", request: 1 }), ["reply 1 refused bad_request"]);
    assert.deepEqual(yard.submit({ group: "x".repeat(1_000_000), request: 2 }), [
      "reply 2 refused bad_request",
    ]);
    assert.equal(yard.core.counters.limitsReached.of("groupLength"), 2);
    assert.match(yard.submit({ group: "x".repeat(256), request: 3 }).join(), /accepted/);
  });

  test("no group waits for more than one task of each other group", () => {
    const anyGroups = fc.array(fc.constantFrom("a", "b", "c", "d", undefined), {
      minLength: 2,
      maxLength: 40,
    });
    fc.assert(
      fc.property(anyGroups, (groups) => {
        const yard = new YardDriver();
        for (const group of groups) yard.submit(group === undefined ? {} : { group });
        yard.join("w");
        const seen = order(yard, 1, groups.length).map((task) => groups[task - 1]);
        for (const waiting of new Set(groups)) {
          const turns = seen.flatMap((group, index) => (group === waiting ? [index] : []));
          turns.unshift(-1);
          for (let turn = 1; turn < turns.length; turn += 1) {
            const between = seen.slice((turns[turn - 1] as number) + 1, turns[turn]);
            assert.equal(new Set(between).size, between.length, `${String(waiting)} in ${seen.join(" ")}`);
          }
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe("maxRunningPerGroup", () => {
  function limited(max = 1): YardDriver {
    return new YardDriver({ queueDefaults: { ...defaultQueueSettings, maxRunningPerGroup: max } });
  }

  test("a full group waits, others go on, and why says which group", () => {
    const yard = limited();
    yard.join("w", { slots: 9, runsAtOnce: 9 });
    for (const group of ["a", "a", "b", "a"]) yard.submit({ group });
    yard.submit();
    yard.submit();
    assert.equal(yard.queue()?.running, 4, "a, b and both without a group");
    assert.deepEqual(yard.core.view.why(2 as TaskId, yard.now), {
      code: "limited",
      message:
        "Group a runs 1 task, and the maxRunningPerGroup of queue q is 1. The next starts when one ends.",
      until: undefined,
    });
    assert.deepEqual(yard.queue()?.waitingBy, { limited: 2 });
    assert.deepEqual(assigned(yard.done("w", 3)), []);
    assert.deepEqual(assigned(yard.done("w", 1)), ["assign 2 to w as 1.5"]);
    assert.deepEqual(assigned(yard.cancel(2)), ["assign 4 to w as 1.6"]);
  });

  test("the place that a task leaves may go to another worker", () => {
    const yard = limited();
    yard.join("w");
    yard.join("other");
    for (const group of ["a", "a"]) yard.submit({ group });
    assert.equal(yard.why(2), "limited");
    assert.deepEqual(assigned(yard.leave("w")), ["assign 1 to other as 1.2"]);
    assert.deepEqual(assigned(yard.done("other", 1)), ["assign 2 to other as 1.3"]);
  });

  test("a task in backoff does not count, and comes back into a full group", () => {
    const yard = new YardDriver({
      queueDefaults: {
        ...defaultQueueSettings,
        maxRunningPerGroup: 1,
        failures: 9,
        backoff: { atOnce: 0, firstMs: 100, factor: 1, maxMs: 100, jitter: 0 },
      },
    });
    yard.join("w", { slots: 9, runsAtOnce: 9 });
    for (const group of ["a", "a"]) yard.submit({ group });
    assert.deepEqual(assigned(yard.fail("w", 1)), ["assign 2 to w as 1.2"]);
    assert.deepEqual(assigned(yard.wait(100)), []);
    assert.equal(yard.why(1), "limited");
    assert.deepEqual(assigned(yard.done("w", 2)), ["assign 1 to w as 1.3"]);
  });

  test("after a restart, a task that may still run fills its group", () => {
    const yard = limited();
    yard.join("w");
    for (const group of ["a", "a", "b"]) yard.submit({ group });
    yard.restart();
    assert.deepEqual(assigned(yard.join("v", { slots: 9, runsAtOnce: 9 })), ["assign 3 to v as 2.1"]);
    assert.equal(yard.why(2), "limited");
    assert.deepEqual(assigned(yard.wait(10_000)), ["assign 1 to v as 2.2"]);
  });

  test("tasks that avoid a worker are not lost while their group is full", () => {
    const yard = limited();
    yard.join("w");
    yard.join("v");
    for (const group of ["a", "a"]) yard.submit({ group });
    assert.deepEqual(assigned(yard.fail("w", 1, { asLoss: true })), ["assign 2 to w as 1.2"]);
    assert.equal(yard.why(1), "limited");
    yard.submit({ group: "b" });
    yard.done("v", 3);
    assert.deepEqual(assigned(yard.done("w", 2)), ["assign 1 to v as 1.4"]);
  });

  test("it can be changed while groups wait", () => {
    const yard = limited();
    yard.join("w", { slots: 9, runsAtOnce: 9 });
    for (const group of ["a", "a", "a", "b", "b"]) yard.submit({ group });
    assert.equal(assigned(yard.set({ maxRunningPerGroup: 2 })).length, 2);
    yard.set({ maxRunningPerGroup: 1 });
    assert.deepEqual(assigned(yard.done("w", 1)), []);
    assert.equal(assigned(yard.done("w", 2)).length, 1);
  });
});
