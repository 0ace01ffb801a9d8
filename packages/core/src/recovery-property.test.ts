// A crash at any point, with only the changes of committed steps: every accepted task that was not
// settled exists once, in its order, and nothing else does.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { defaultQueueSettings } from "./limits.js";
import type { TaskId } from "./names.js";
import { YardDriver } from "./testing/yard-driver.js";

type Act = (yard: YardDriver) => void;

const anyTask = fc.integer({ min: 1, max: 12 });
const anyName = fc.constantFrom("a", "b", "y/c");

/** Events of a yard, one step each. */
const anyAct: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record(
        {
          queue: fc.constantFrom("q", "r"),
          priority: fc.integer({ min: 0, max: 1 }),
          delayMs: fc.constantFrom(0, 0, 3000),
          waitingMsMax: fc.constantFrom(0, 4000),
          attempts: fc.integer({ min: 1, max: 3 }),
          failures: fc.integer({ min: 1, max: 2 }),
          key: fc.constantFrom("k", "l"),
          after: fc.uniqueArray(
            anyTask.map((id) => id as TaskId),
            { minLength: 1, maxLength: 2 },
          ),
          ifFailed: fc.constantFrom("cancel" as const, "run" as const),
          replyTo: fc.constant({ address: "me", diesWithConnection: false }),
        },
        { requiredKeys: ["queue"] },
      )
      .map(
        (fields): Act =>
          (yard) =>
            yard.submit(fields),
      ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(anyName, fc.integer({ min: 1, max: 3 })).map(
      ([name, slots]): Act =>
        (yard) =>
          yard.join(name, { queues: ["q", "r"], slots }),
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
    weight: 4,
    arbitrary: fc.tuple(fc.constantFrom("done", "fail", "lose", "back", "beat"), anyName, anyTask).map(
      ([what, name, task]): Act =>
        (yard) => {
          if (what === "done") yard.done(name, task);
          else if (what === "fail") yard.fail(name, task);
          else if (what === "lose") yard.lose(name, task);
          else if (what === "back") yard.giveBack(name, task, "does_not_fit");
          else yard.beat(name, task);
        },
    ),
  },
  {
    weight: 1,
    arbitrary: anyTask.map(
      (task): Act =>
        (yard) =>
          yard.cancel(task),
    ),
  },
  {
    weight: 1,
    arbitrary: anyTask.map(
      (task): Act =>
        (yard) =>
          yard.post("x", { type: "outcomes-told", tasks: [task as TaskId] }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("pause" as const, "resume" as const).map(
      (order): Act =>
        (yard) =>
          yard.order(order),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(100, 1500, 20_000).map(
      (ms): Act =>
        (yard) =>
          yard.wait(ms),
    ),
  },
  { weight: 1, arbitrary: fc.constant((yard: YardDriver) => void yard.restart()) },
);

const options = {
  keyTtlMs: 30_000,
  replyTtlMs: 40_000,
  retention: { bytes: 1e9, ageMs: 60_000, count: 6 },
  // A queue with a history of its own beside one in the common history.
  queues: new Map([["r", { ...defaultQueueSettings, retention: { bytes: 1e9, ageMs: 30_000, count: 3 } }]]),
  limits: { finishedKeys: 3, untold: 4, lingering: 2, dependedOn: 2 },
};

/** The unsettled tasks according to committed state. */
function left(yard: YardDriver) {
  return yard.store.unsettled().map(({ head, progress }) => ({
    id: head.id,
    state: progress === undefined || progress.state === "running" ? "waiting" : progress.state,
    losses: progress?.losses ?? 0,
    failures: progress?.failures ?? 0,
    recovering: progress?.state === "running" || progress?.recovering === true,
  }));
}

/**
 * Assigns all waiting tasks to one worker with enough slots. Returns their ids in that order, by
 * queue.
 */
function givenOut(yard: YardDriver): Map<string, number[]> {
  for (const queue of ["q", "r"]) yard.order("resume", queue);
  yard.join("z/all", { queues: ["q", "r"], slots: 1000, runsAtOnce: 1000 });
  const order = new Map<string, number[]>();
  for (const effect of yard.effects) {
    if (effect.type !== "assign") continue;
    const { queue, id } = effect.task;
    order.set(queue, [...(order.get(queue) ?? []), id]);
  }
  return order;
}

/**
 * Runs the acts; steps after `crashAt` are not committed. Returns the yard, and the tasks that the
 * committed steps accepted or evicted.
 */
function crashed(acts: readonly Act[], crashAt: number): { yard: YardDriver; accepted: Set<number> } {
  const yard = new YardDriver(options);
  const accepted = new Set<number>();
  let committed = yard.store.copy();
  acts.forEach((act, index) => {
    act(yard);
    if (index >= crashAt) return;
    committed = yard.store.copy();
    for (const id of committed.tasks.keys()) accepted.add(id);
  });
  yard.store = committed;
  return { yard, accepted };
}

/** The ids of the tasks that could start now, in the expected order. */
function readyOrder(yard: YardDriver, queue: string): number[] {
  return yard.store
    .unsettled()
    .filter(({ head }) => head.queue === queue && yard.state(head.id) === "waiting")
    .filter(({ head }) => !["delayed", "backoff", "recovering", "blocked"].includes(yard.why(head.id) ?? ""))
    .sort((one, other) => other.head.priority - one.head.priority || one.head.id - other.head.id)
    .map(({ head }) => head.id);
}

function checkRestored(yard: YardDriver, accepted: ReadonlySet<number>): void {
  const before = left(yard);
  yard.restart();
  const after = left(yard);
  for (const id of yard.store.tasks.keys()) assert.ok(accepted.has(id), `task ${id} came from nowhere`);
  for (const task of before) {
    const same = after.find(({ id }) => id === task.id);
    // A task whose deadline had passed at the restart has ended by now.
    if (same === undefined || same.state !== task.state) assert.notEqual(yard.state(task.id), "waiting");
    else assert.deepEqual(same, task);
  }
  for (const task of after) {
    assert.ok(
      before.some(({ id }) => id === task.id),
      `task ${task.id} is settled, and back`,
    );
    assert.equal(yard.why(task.id) === "recovering", task.recovering);
  }
  assert.equal(yard.core.liveTasks, after.length);
}

function checkEnds(yard: YardDriver): void {
  yard.wait(100_000);
  // Each round may release dependents.
  for (let running = yard.core.running; running > 0; running = yard.core.running) {
    for (const [task, attempt] of [...yard.attempts]) {
      const isRunning = yard.store.tasks.get(task as TaskId)?.progress?.state === "running";
      if (isRunning) yard.done("z/all", task, { attempt });
    }
    yard.wait(100_000);
  }
  for (const name of ["q", "r"]) assert.equal(yard.queue(name)?.waiting ?? 0, 0);
  assert.equal(yard.core.running, 0);
}

describe("a crash at any point", () => {
  test("leaves every accepted task that is not settled, once, in its order, and nothing else", () => {
    fc.assert(
      fc.property(fc.array(anyAct, { maxLength: 60, size: "max" }), fc.nat(), (acts, at) => {
        const { yard, accepted } = crashed(acts, at % (acts.length + 1));
        const { lastTask } = yard.store;
        checkRestored(yard, accepted);
        const orders = ["q", "r"].map((queue) => readyOrder(yard, queue));
        const order = givenOut(yard);
        assert.deepEqual([order.get("q") ?? [], order.get("r") ?? []], orders);
        yard.submit();
        assert.equal(yard.store.lastTask, lastTask + 1, "a number is never used twice");
        checkEnds(yard);
      }),
      { numRuns: Number(process.env.YARD_FUZZ_RUNS ?? 300) },
    );
  });
});
