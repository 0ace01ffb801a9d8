// Steps of bulk actions: which tasks are cancelled, submitted or left alone. The record is
// committed with the work.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ActionWork } from "./action-record.js";
import { type ActionRecord, actionMemoName } from "./action-record.js";
import type { TaskId } from "./names.js";
import { bodyOf, YardDriver } from "./testing/yard-driver.js";
import type { WallTime } from "./time.js";

const begun: ActionRecord = {
  id: "7",
  kind: "cancel",
  by: "10.0.0.1",
  startedAt: 0 as WallTime,
  state: "running",
  filter: { queue: "q" },
  walk: 0,
  matched: 0,
  done: 0,
  refused: 0,
};

function step(yard: YardDriver, action: ActionRecord, work?: ActionWork): string[] {
  const event = { type: "action-stepped", request: 5, action } as const;
  return yard.post("http", work === undefined ? event : { ...event, work });
}

/** The record as the last step committed it. */
function recorded(yard: YardDriver): ActionRecord {
  for (const change of yard.changes)
    if (change.kind === "memo" && change.memo.name === actionMemoName("7"))
      return JSON.parse(new TextDecoder().decode(change.memo.bytes));
  throw new Error("no record was committed");
}

function ids(...numbers: number[]): TaskId[] {
  return numbers as TaskId[];
}

describe("a step of a bulk action", () => {
  test("the first one records which tasks are too new for it", () => {
    const yard = new YardDriver();
    yard.submit();
    yard.submit();
    assert.deepEqual(step(yard, begun), ["http: reply 5 acted on 0: 0 done, 0 refused"]);
    const action = recorded(yard);
    assert.equal(action.upTo, 2);
    yard.submit();
    step(yard, action);
    assert.equal(recorded(yard).upTo, 2);
  });

  test("cancels waiting and running tasks, and counts those that finished meanwhile", () => {
    const yard = new YardDriver();
    for (let count = 0; count < 3; count++) yard.submit();
    yard.join("w");
    yard.done("w", 1);
    const effects = step(yard, begun, { type: "cancel", tasks: ids(3, 2, 1) });
    assert.deepEqual(effects, [
      "revoke 2 from w as 1.2: cancelled",
      "http: reply 5 acted on 3: 2 done, 1 refused",
    ]);
    assert.deepEqual([yard.state(1), yard.state(2), yard.state(3)], ["done", "cancelled", "cancelled"]);
    assert.deepEqual(yard.story(3), ["waiting submitted", "cancelled cancelled by 10.0.0.1, action 7"]);
    assert.match(recorded(yard).lastRefusal ?? "", /^Task 1 has finished/);
    assert.equal(yard.core.counters.actionTasks.of("cancel", "done"), 2);
    assert.equal(yard.core.counters.actionTasks.of("cancel", "refused"), 1);
  });

  test("leaves a task alone that is no longer in the state asked for", () => {
    const yard = new YardDriver();
    yard.submit();
    yard.submit();
    yard.join("w");
    step(yard, begun, { type: "cancel", tasks: ids(2, 1), state: "waiting" });
    assert.deepEqual([yard.state(1), yard.state(2)], ["running", "cancelled"]);
    assert.deepEqual([recorded(yard).done, recorded(yard).refused], [1, 1]);
  });

  test("a purge cancels ready tasks of any priority, a bounded number a step", () => {
    const yard = new YardDriver();
    for (const priority of [0, 5, 0, 5, -1]) yard.submit({ priority });
    yard.submit({ queue: "other" });
    const purge = { type: "purge", queue: "q", max: 2 } as const;
    const action = { ...begun, kind: "purge", upTo: 6 } as const;
    assert.match(step(yard, action, purge).join(), /acted on 2: 2 done, 0 refused, more/);
    assert.deepEqual([yard.state(2), yard.state(4), yard.state(1)], ["cancelled", "cancelled", "waiting"]);
    assert.match(step(yard, recorded(yard), purge).join(), /acted on 4: 4 done, 0 refused, more/);
    assert.match(step(yard, recorded(yard), purge).join(), /acted on 5: 5 done, 0 refused$/);
    assert.equal(yard.state(6), "waiting");
    assert.match(step(yard, recorded(yard), { ...purge, queue: "none" }).join(), /acted on 5/);
  });

  test("a purge spares what was submitted after it began", () => {
    const yard = new YardDriver();
    yard.submit();
    step(yard, begun);
    const action = recorded(yard);
    yard.submit();
    assert.match(step(yard, action, { type: "purge", queue: "q", max: 10 }).join(), /acted on 1: 1 done/);
    assert.equal(yard.state(2), "waiting");
  });

  test("submits retried tasks again, and counts those without room", () => {
    const yard = new YardDriver({ limits: { payloadBytes: 20 } });
    const submissions = [10, 30, 10].map((size) => ({ queue: "q", payload: bodyOf(size) }));
    const effects = step(yard, { ...begun, kind: "retry" }, { type: "submit", submissions });
    assert.deepEqual(effects, ["http: reply 5 acted on 3: 2 done, 1 refused"]);
    assert.deepEqual([yard.state(1), yard.state(2)], ["waiting", "waiting"]);
    assert.match(recorded(yard).lastRefusal ?? "", /20 bytes/);
  });

  test("a dispatcher that is stopping takes no step, so that the next one goes on", () => {
    const yard = new YardDriver();
    yard.submit();
    yard.post("yard", { type: "yard-closing" });
    assert.deepEqual(step(yard, begun, { type: "cancel", tasks: ids(1) }), [
      "http: reply 5 refused not_ready",
    ]);
    assert.equal(yard.state(1), "waiting");
    assert.throws(() => recorded(yard));
  });

  test("a graph is submitted whole or refused whole, and counted by its tasks", () => {
    const yard = new YardDriver();
    const submission = { queue: "q", payload: bodyOf(1) };
    const items = [
      { submission, afterItems: [] },
      { submission, afterItems: [0] },
    ];
    step(yard, begun, { type: "submit-graph", items, pastOutcomes: [] });
    assert.deepEqual([recorded(yard).done, recorded(yard).refused], [2, 0]);
    assert.deepEqual(yard.stored(2).head.relations?.after, [1]);
    const unknown = [{ submission: { ...submission, after: ids(99) }, afterItems: [] }, ...items];
    step(yard, begun, { type: "submit-graph", items: unknown, pastOutcomes: [] });
    assert.deepEqual([recorded(yard).done, recorded(yard).refused], [0, 3]);
    assert.equal(yard.queue()?.waiting, 2);
  });
});
