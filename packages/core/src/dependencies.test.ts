import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Dispatcher } from "./dispatcher.js";
import type { Effect } from "./effects.js";
import type { YardEvent } from "./events.js";
import { defaultCoreOptions, defaultQueueSettings } from "./limits.js";
import type { TaskId } from "./names.js";
import type { Step } from "./step.js";
import type { GraphItem, PastOutcome } from "./submission.js";
import { bodyOf, YardDriver } from "./testing/yard-driver.js";
import type { Instant, Moment, WallTime } from "./time.js";

const ids = (...tasks: number[]): TaskId[] => tasks as TaskId[];

function graph(
  yard: YardDriver,
  items: Partial<GraphItem & GraphItem["submission"]>[],
  request = 1,
  pastOutcomes: readonly PastOutcome[] = [],
): string[] {
  return yard.post("x", {
    type: "graph-submitted",
    request,
    pastOutcomes,
    items: items.map(({ afterItems = [], ...submission }) => ({
      afterItems,
      submission: { queue: "q", payload: bodyOf(10), ...submission },
    })),
  });
}

describe("dependencies", () => {
  test("a task waits until every task that it depends on has ended, and says for which", () => {
    const yard = new YardDriver();
    for (let count = 3; count > 0; count--) yard.submit();
    yard.submit({ after: ids(1, 2, 3), priority: 9 });
    assert.deepEqual(yard.join("w"), ["assign 1 to w as 1.1"]);
    assert.deepEqual(yard.done("w", 1), ["assign 2 to w as 1.2"]);
    const why = yard.core.view.why(4 as TaskId, yard.now);
    assert.equal(why?.code, "blocked");
    assert.equal(why?.message, "It waits for 2 of 3 tasks: 2, 3.");
    assert.equal(yard.queue()?.waitingBy.blocked, 1);
    yard.done("w", 2);
    assert.deepEqual(yard.done("w", 3), ["assign 4 to w as 1.4"]);
    assert.deepEqual(yard.story(4), [
      "waiting submitted",
      "waiting unblocked: task 3 ended done",
      "running assigned 1.4 w",
    ]);
  });

  test("a finished task stays unsettled until the last task that depends on it has ended", () => {
    const yard = new YardDriver({ retention: { bytes: 1, ageMs: 1, count: 1 } });
    yard.submit();
    yard.submit({ after: ids(1) });
    yard.submit({ after: ids(1) });
    yard.join("w");
    yard.done("w", 1);
    assert.equal(yard.stored(1).progress?.settled, 0);
    assert.deepEqual(yard.core.view.dependents(1 as TaskId, 10), [2, 3]);
    yard.done("w", 2);
    yard.wait(10);
    assert.equal(yard.stored(1).progress?.settled, 0, "task 3 still runs");
    yard.done("w", 3);
    yard.wait(10);
    assert.equal(yard.store.tasks.size, 0, "and then retention evicts all of them");
  });

  test("any outcome but done cancels the dependents, and theirs", () => {
    const yard = new YardDriver();
    yard.submit();
    yard.submit({ after: ids(1), replyTo: { address: "me", diesWithConnection: false } });
    yard.submit({ after: ids(2) });
    yard.submit({ after: ids(3), ifFailed: "run" });
    yard.join("w");
    assert.deepEqual(yard.fail("w", 1), ["tell 2 cancelled dependency_failed", "assign 4 to w as 1.2"]);
    assert.equal(
      yard.stored(2).progress?.error?.message,
      "Task 1 ended failed, and this task depends on it.",
    );
    assert.equal(
      yard.stored(3).progress?.error?.message,
      "Task 2 ended cancelled, and this task depends on it.",
    );
    assert.deepEqual(yard.story(3), ["waiting submitted", "cancelled cancelled: task 2 ended cancelled"]);
    assert.equal(yard.stored(1).progress?.settled === 0, false, "nothing waits for it any more");
  });

  test("a cancelled and an expired dependency count as failed", () => {
    const yard = new YardDriver();
    yard.submit();
    yard.submit({ expiresAt: (yard.now.wall + 1000) as never });
    yard.submit({ after: ids(1) });
    yard.submit({ after: ids(2) });
    yard.cancel(1);
    yard.wait(1000);
    assert.equal(yard.state(3), "cancelled");
    assert.equal(yard.state(4), "cancelled");
  });

  test("a dependency that has ended is judged when the dependent is submitted", () => {
    const yard = new YardDriver();
    const replyTo = { address: "me", diesWithConnection: false };
    yard.submit({ replyTo });
    yard.submit({ replyTo });
    yard.join("w");
    yard.done("w", 1);
    yard.fail("w", 2);
    assert.deepEqual(yard.submit({ after: ids(1), request: 1 }), [
      "assign 3 to w as 1.3",
      "reply 1 accepted 3",
    ]);
    yard.post("x", { type: "outcomes-told", tasks: ids(1, 2) });
    assert.equal(yard.stored(1).progress?.settled, 0, "task 3 may still read its result");
    assert.equal(yard.stored(2).progress?.settled === 0, false);
    assert.deepEqual(yard.submit({ after: ids(2), request: 2 }), ["reply 2 refused unknown_dependency"]);
    const pastOutcomes = [{ task: 2 as TaskId, state: "failed" as const }];
    yard.submit({ after: ids(2), pastOutcomes, request: 3 });
    assert.equal(yard.state(4), "cancelled");
    yard.submit({ after: ids(2), pastOutcomes, ifFailed: "run", request: 3 });
    assert.equal(yard.state(5), "waiting");
    yard.done("w", 3);
    assert.equal(yard.stored(1).progress?.settled === 0, false);
    assert.equal(yard.stored(1).progress?.told, true);
  });

  test("unknown tasks and too many are refused", () => {
    const yard = new YardDriver({ limits: { dependencies: 2 } });
    assert.deepEqual(yard.submit({ after: ids(1), request: 1 }), ["reply 1 refused unknown_dependency"]);
    for (let count = 3; count > 0; count--) yard.submit();
    assert.deepEqual(yard.submit({ after: ids(1, 2, 3), request: 2 }), ["reply 2 refused bad_request"]);
    assert.equal(yard.core.counters.limitsReached.of("dependencies"), 1);
  });

  test("a blocked task can be cancelled, and expires at its latest start", () => {
    const yard = new YardDriver();
    yard.submit();
    yard.submit({ after: ids(1) });
    yard.submit({ after: ids(1), expiresAt: (yard.now.wall + 500) as never });
    yard.cancel(2);
    yard.wait(500);
    assert.equal(yard.state(2), "cancelled");
    assert.equal(yard.state(3), "expired");
    assert.match(yard.stored(3).progress?.error?.message ?? "", /It waits for 1 of 1 task: 1/);
    yard.join("w");
    assert.deepEqual(yard.done("w", 1), []);
    assert.equal(yard.stored(1).progress?.settled, 3);
  });

  test("what is left of a delay holds after the last dependency has ended", () => {
    const yard = new YardDriver();
    yard.submit();
    yard.submit({ after: ids(1), delayMs: 1000 });
    yard.join("w");
    yard.wait(400);
    yard.done("w", 1);
    assert.equal(yard.why(2), "delayed");
    assert.deepEqual(yard.wait(599), []);
    assert.deepEqual(yard.wait(1), ["assign 2 to w as 1.2"]);
  });

  test("an outcome is delivered before and apart from what depends on it", () => {
    const yard = new YardDriver();
    yard.submit({ replyTo: { address: "me", diesWithConnection: true } });
    yard.submit({ after: ids(1) });
    yard.join("w");
    assert.deepEqual(yard.done("w", 1), ["tell 1 done 3 bytes", "assign 2 to w as 1.2"]);
    assert.equal(yard.stored(1).progress?.told, false, "not in advance: it does not enter history yet");
    yard.post("x", { type: "outcomes-told", tasks: ids(1) });
    assert.deepEqual([yard.stored(1).progress?.told, yard.stored(1).progress?.settled], [true, 0]);
    yard.restart();
    assert.deepEqual(yard.post("x", { type: "door-opened", incarnation: yard.epoch }), [], "not told again");
    yard.join("w");
    yard.wait(10_000);
    yard.done("w", 2);
    assert.equal(yard.stored(1).progress?.settled, 1);
  });

  test("beyond its limit, the oldest task that is depended on is settled early", () => {
    const yard = new YardDriver({ limits: { dependedOn: 2 } });
    for (let count = 3; count > 0; count--) yard.submit();
    yard.submit();
    yard.submit({ after: ids(1, 2, 3, 4) });
    yard.join("w");
    for (const task of [1, 2, 3]) yard.done("w", task);
    assert.deepEqual(
      [1, 2, 3].map((task) => yard.stored(task).progress?.settled),
      [1, 0, 0],
    );
    assert.equal(yard.core.counters.limitsReached.of("dependedOn"), 1);
    assert.deepEqual(yard.done("w", 4), ["assign 5 to w as 1.5"]);
  });
});

describe("a graph", () => {
  test("is accepted as one, with ids after those that each depends on", () => {
    const yard = new YardDriver();
    yard.submit();
    const found = graph(yard, [{ afterItems: [1, 2] }, { afterItems: [2], after: ids(1) }, {}, {}]);
    assert.deepEqual(found, ["reply 1 accepted 4 3 2 5"]);
    assert.deepEqual(yard.stored(4).head.relations?.after, [3, 2]);
    assert.deepEqual(yard.stored(3).head.relations?.after, [1, 2]);
    assert.deepEqual(
      [2, 3, 4, 5].map((task) => yard.why(task)),
      ["no_worker", "blocked", "blocked", "no_worker"],
    );
  });

  test("is refused whole with the item: cycles, unknown tasks, queues, limits, keys", () => {
    const yard = new YardDriver({ limits: { dependencies: 2 } });
    const refused = (...items: Parameters<typeof graph>[1]) =>
      graph(yard, items)[0]?.replace("reply 1 refused ", "");
    assert.equal(refused({}, { afterItems: [1] }), "dependency_cycle at 1");
    assert.equal(
      refused({}, { afterItems: [2] }, { afterItems: [3] }, { afterItems: [1] }),
      "dependency_cycle at 1",
    );
    assert.equal(refused({}, { afterItems: [7] }), "unknown_dependency at 1");
    assert.equal(refused({}, { after: ids(99) }), "unknown_dependency at 1");
    assert.equal(refused({}, { queue: "?" }), "bad_request at 1");
    assert.equal(refused({}, {}, {}, { afterItems: [0, 1, 2] }), "bad_request at 3");
    assert.equal(refused({ key: "k" }, { key: "k" }), "bad_request at 1");
    assert.equal(yard.store.tasks.size, 0);
    assert.equal(yard.core.view.queues().length, 0);
  });

  test("counts against a queue's limits as a whole", () => {
    const settings = { ...defaultQueueSettings, attempts: 1, maxWaiting: 2, maxBytes: 25 };
    const yard = new YardDriver({ queues: new Map([["q", settings]]) });
    assert.deepEqual(graph(yard, [{}, {}, {}]), ["reply 1 refused queue_full at 2"]);
    assert.deepEqual(graph(yard, [{}, { payload: bodyOf(16) }]), ["reply 1 refused queue_full at 1"]);
    assert.deepEqual(graph(yard, [{}, {}]), ["reply 1 accepted 1 2"]);
  });

  test("submitted twice with keys is accepted once", () => {
    const yard = new YardDriver();
    const items = [{ key: "a" }, { key: "b", afterItems: [0] }];
    graph(yard, items);
    assert.deepEqual(graph(yard, items), ["reply 1 accepted 1= 2="]);
    assert.deepEqual(graph(yard, [{ key: "a", fingerprint: "f" }, { afterItems: [0] }]), [
      "reply 1 accepted 1= 3",
    ]);
    assert.deepEqual(yard.stored(3).head.relations?.after, [1]);
  });
});

describe("a graph that repeats tasks", () => {
  test("must know how those ended that have left the core", () => {
    const yard = new YardDriver();
    graph(yard, [{ key: "a" }, { key: "b" }]);
    yard.join("w");
    yard.done("w", 1);
    yard.fail("w", 2);
    const items = [{ key: "a" }, { key: "b" }, { afterItems: [0] }, { afterItems: [0, 1] }];
    assert.deepEqual(graph(yard, items), ["reply 1 refused unknown_dependency at 2"]);
    const pastOutcomes = [
      { task: 1 as TaskId, state: "done" as const },
      { task: 2 as TaskId, state: "failed" as const },
    ];
    graph(yard, items, 1, pastOutcomes);
    assert.deepEqual([yard.state(3), yard.state(4)], ["running", "cancelled"]);
  });
});

describe("dependencies after a crash", () => {
  test("blocked tasks stay blocked, released ones run, and kept ones stay kept", () => {
    const yard = new YardDriver();
    yard.submit();
    yard.submit();
    yard.submit({ after: ids(1) });
    yard.submit({ after: ids(1, 2) });
    yard.join("w");
    yard.done("w", 1);
    yard.restart();
    assert.deepEqual([yard.why(2), yard.why(3), yard.why(4)], ["recovering", "no_worker", "blocked"]);
    yard.wait(10_000);
    yard.join("w", { slots: 2, runsAtOnce: 2 });
    assert.equal(yard.stored(1).progress?.settled, 0);
    yard.done("w", 3);
    assert.deepEqual(yard.done("w", 2), ["assign 4 to w as 2.3"]);
    yard.done("w", 4);
    assert.equal(yard.store.unsettled().length, 0);
  });

  test("a worker cannot take a blocked task by naming it", () => {
    const yard = new YardDriver();
    yard.submit();
    yard.submit({ after: ids(1) });
    yard.restart();
    yard.join("w", { queues: ["other"] });
    yard.done("w", 2, { attempt: undefined });
    assert.equal(yard.state(2), "waiting");
  });

  test("in the middle of a cascade, the rest is cancelled after the start", () => {
    const yard = new YardDriver();
    yard.submit();
    for (let task = 2; task <= 1500; task++) yard.submit({ after: ids(task - 1) });
    yard.cancel(1);
    const left = yard.store.unsettled().length;
    assert.ok(left > 0 && left < 1000, `${left}`);
    yard.restart();
    yard.wait(10);
    assert.equal(yard.store.unsettled().length, 0);
    assert.equal(yard.stored(1500).progress?.error?.code, "dependency_failed");
  });
});

describe("many dependencies", () => {
  const many = 100_000;

  /** Without the driver: it checks every invariant after each step, which walks over all tasks. */
  class Crowd {
    #instant = 0;
    readonly #core = new Dispatcher({ ...defaultCoreOptions, random: () => 0 }, 1, this.#now());
    #number = 0;
    readonly ended = new Map<string, number>();
    changesMax = 0;

    constructor() {
      this.#core.begin({ lastTask: 0, lastSettled: 0 }, this.#now());
      this.post({ type: "door-opened", incarnation: 1 });
    }

    #now(): Moment {
      return {
        instant: this.#instant as Instant,
        wall: (1_700_000_000_000 + this.#instant) as WallTime,
      };
    }

    post(event: YardEvent): readonly Effect[] {
      this.#number += 1;
      return this.#take(this.#core.handle({ door: "x", number: this.#number, event }, this.#now()));
    }

    submit(...after: number[]): void {
      this.post({
        type: "task-submitted",
        submission: { queue: "q", payload: bodyOf(1), after: ids(...after) },
      });
    }

    /** Works off everything that is due within a minute; returns the number of steps. */
    settle(): number {
      for (let steps = 0; ; steps++) {
        const next = this.#core.nextDeadline();
        if (next === undefined || next > 60_000) return steps;
        this.#instant = next;
        this.#take(this.#core.handleTimeout(this.#now()));
      }
    }

    get blocked(): number {
      return this.#core.view.queues()[0]?.waitingBy.blocked ?? 0;
    }

    #take(step: Step): readonly Effect[] {
      const changes = step.takeChanges();
      this.changesMax = Math.max(this.changesMax, changes.length);
      for (const change of changes) {
        if (change.kind !== "progress" || change.progress.settled === 0) continue;
        const { state } = change.progress;
        this.ended.set(state, (this.ended.get(state) ?? 0) + 1);
      }
      return step.takeEffects();
    }
  }

  test("100,000 behind one task are released in bounded steps", () => {
    const crowd = new Crowd();
    crowd.submit();
    for (let count = many; count > 0; count--) crowd.submit(1);
    assert.equal(crowd.blocked, many);
    crowd.post({ type: "task-answered", task: 1 as TaskId, by: "test", result: bodyOf(1) });
    const steps = crowd.settle();
    assert.equal(crowd.blocked, 0);
    assert.ok(steps >= 99, `${steps} steps`);
    assert.ok(crowd.changesMax <= 1100, `${crowd.changesMax} changes in one step`);
  });

  test("a chain of 100,000 ends without recursion when its first task is cancelled", () => {
    const crowd = new Crowd();
    crowd.submit();
    for (let task = 2; task <= many; task++) crowd.submit(task - 1);
    crowd.post({ type: "cancel-asked", task: 1 as TaskId, by: "test" });
    crowd.settle();
    assert.equal(crowd.ended.get("cancelled"), many);
    assert.ok(crowd.changesMax <= 3100, `${crowd.changesMax} changes in one step`);
  });

  test("a chain of 100,000 runs to its end, one task at a time", () => {
    const crowd = new Crowd();
    crowd.submit();
    for (let task = 2; task <= many; task++) crowd.submit(task - 1);
    for (let task = 1; task <= many; task++)
      crowd.post({ type: "task-answered", task: task as TaskId, by: "test", result: bodyOf(1) });
    assert.equal(crowd.ended.get("done"), many);
    assert.ok(crowd.changesMax <= 10, `${crowd.changesMax} changes in one step`);
  });
});
