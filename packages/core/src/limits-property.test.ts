// Limits of a queue under any events and any restarts, judged by committed state: no more tasks run
// than allowed, no group runs more than its share, and no more start than the rate allows.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { defaultQueueSettings } from "./limits.js";
import { YardDriver } from "./testing/yard-driver.js";

const settings = {
  ...defaultQueueSettings,
  maxRunning: 3,
  maxRunningPerGroup: 2,
  rate: { tasks: 4, perMs: 2000 },
};

type Act = (yard: YardDriver) => unknown;

const anyTask = fc.integer({ min: 1, max: 15 });
const anyName = fc.constantFrom("a", "b", "y/c");
const anyAct: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record(
        {
          priority: fc.integer({ min: 0, max: 1 }),
          delayMs: fc.constantFrom(0, 0, 700),
          group: fc.constantFrom("g", "g", "h"),
          attemptTimeoutMs: fc.constantFrom(0, 0, 300),
        },
        { requiredKeys: [] },
      )
      .map(
        (fields): Act =>
          (yard) =>
            yard.submit(fields),
      ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(anyName, fc.integer({ min: 1, max: 5 })).map(
      ([name, slots]): Act =>
        (yard) =>
          yard.join(name, { slots, runsAtOnce: slots }),
    ),
  },
  {
    weight: 1,
    arbitrary: anyName.map(
      (name): Act =>
        (yard) =>
          yard.leave(name),
    ),
  },
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom("done", "fail", "lose", "back", "beat", "cancel"), anyName, anyTask)
      .map(
        ([what, name, task]): Act =>
          (yard) => {
            if (what === "done") return yard.done(name, task);
            if (what === "fail") return yard.fail(name, task, { asLoss: true });
            if (what === "lose") return yard.lose(name, task);
            if (what === "back") return yard.giveBack(name, task, "busy", 100);
            return what === "beat" ? yard.beat(name, task) : yard.cancel(task);
          },
      ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(100, 500, 5000).map(
      (ms): Act =>
        (yard) =>
          yard.wait(ms),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Act>((yard) => yard.restart()) },
);

/**
 * Number of tasks by group that run according to committed state, or may still run since before a
 * restart.
 */
function active(yard: YardDriver): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { head, progress } of yard.store.tasks.values()) {
    if (progress?.state !== "running" && yard.why(head.id) !== "recovering") continue;
    for (const name of ["all", head.relations?.group])
      if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

/** When each attempt was assigned, according to committed state. */
function noteStarts(yard: YardDriver, starts: Map<number, number>): void {
  for (const { progress } of yard.store.tasks.values())
    if (progress?.attempt !== undefined) starts.set(progress.attempt, progress.startedAt ?? 0);
}

function checkRate(starts: readonly number[]): void {
  const { tasks, perMs } = settings.rate;
  for (const [first, from] of starts.entries())
    for (const [last, to] of starts.entries()) {
      const allowed = tasks + ((to - from) * tasks) / perMs;
      if (last >= first)
        assert.ok(last - first + 1 <= allowed + 0.01, `${last - first + 1} in ${to - from} ms`);
    }
}

describe("the limits of a queue", () => {
  test("hold under any events and any restarts", () => {
    fc.assert(
      fc.property(fc.array(anyAct, { maxLength: 80, size: "max" }), (acts) => {
        const yard = new YardDriver({ queueDefaults: settings, graceMs: 1000 });
        const starts = new Map<number, number>();
        for (const act of acts) {
          act(yard);
          const before = starts.size;
          noteStarts(yard, starts);
          // The end of a grace period is not recorded, so after a second restart more may be
          // recovering than ever ran at once. Then nothing starts.
          if (starts.size === before) continue;
          const { all = 0, g = 0, h = 0 } = Object.fromEntries(active(yard));
          assert.ok(all <= 3 && g <= 2 && h <= 2, `${all} run, ${g} of g, ${h} of h`);
        }
        checkRate([...starts.values()].sort((one, other) => one - other));
      }),
      { numRuns: Number(process.env.YARD_FUZZ_RUNS ?? 200) },
    );
  });
});
