import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Instant, TaskId } from "@yardmaster/core";
import { EventFilter } from "./event-filter.js";
import { KeptEvents } from "./kept-events.js";
import { lingerMs, TaskScopes } from "./task-scopes.js";

const at = (ms: number) => ms as Instant;
const all = new EventFilter({ types: ["queue", "task"] });
const mine = new EventFilter({ types: ["task"], queue: ["mine"] });
const one = new EventFilter({ task: [7 as TaskId] });

describe("the tasks whose changes are gathered", () => {
  test("are none without listeners, and those of a queue that one filters by", () => {
    const scopes = new TaskScopes();
    assert.ok(scopes.isEmpty);
    scopes.open(mine, () => 1);
    assert.deepEqual([scopes.has("mine"), scopes.has("other"), scopes.isNamed("mine")], [true, false, true]);
    scopes.open(all, () => 2);
    assert.deepEqual([scopes.has("other"), scopes.isNamed("other")], [true, false]);
  });

  test("are no others for one that follows a task", () => {
    const scopes = new TaskScopes();
    scopes.open(one, () => assert.fail("it continues with the state of its tasks"));
    assert.deepEqual([scopes.isFollowed(7 as TaskId), scopes.has("mine")], [true, false]);
    scopes.leave(one, at(0));
    assert.ok(scopes.isEmpty);
  });

  test("are gathered for a while after the last listener left", () => {
    const scopes = new TaskScopes();
    scopes.open(all, () => 5);
    scopes.leave(all, at(1_000));
    scopes.tidy(at(999 + lingerMs));
    assert.ok(scopes.has("q"));
    scopes.open(all, () => assert.fail("nothing was missed"));
    assert.equal(scopes.toldFrom(all), 5);
    scopes.leave(all, at(2_000));
    scopes.tidy(at(2_000 + lingerMs));
    assert.ok(scopes.isEmpty);
    scopes.open(all, () => 9);
    assert.equal(scopes.toldFrom(all), 9);
  });

  test("a filter by queue continues from where all were told, if that is earlier", () => {
    const scopes = new TaskScopes();
    scopes.open(all, () => 3);
    scopes.open(mine, () => 8);
    assert.equal(scopes.toldFrom(mine), 3);
    const both = new EventFilter({ types: ["task"], queue: ["mine", "more"] });
    assert.equal(scopes.toldFrom(both), 3);
  });
});

test("a listener that returns after its changes were not gathered starts anew", () => {
  const kept = new KeptEvents("s");
  const scopes = new TaskScopes();
  scopes.open(all, () => kept.mark());
  kept.add("task", "{}", { type: "task", queues: ["q"] });
  const { lastId } = kept;
  kept.add("queue", '{"name":"q"}', { type: "queue", queues: ["q"] });
  assert.match(kept.since(lastId, all, scopes.toldFrom(all)) ?? "", /^id: s-3\nevent: queue\n/);
  scopes.leave(all, at(0));
  scopes.tidy(at(lingerMs));
  scopes.open(all, () => kept.mark());
  assert.equal(kept.since("s-3", all, scopes.toldFrom(all)), undefined);
  assert.equal(kept.since(kept.lastId, all, scopes.toldFrom(all)), "");
});
