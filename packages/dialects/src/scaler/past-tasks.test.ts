import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Instant, TaskHead, TaskId } from "@yardmaster/core";
import { foreignTaskId } from "./bodies.js";
import { PastTasks } from "./past-tasks.js";

const at = (ms: number) => ms as Instant;

function made() {
  const searches: { last: number; take: (heads: readonly TaskHead[]) => void }[] = [];
  const past = new PastTasks("scaler", (last, _max, take) => searches.push({ last, take }));
  return { past, searches };
}

describe("tasks that a worker may hold from before the restart", () => {
  test("are searched for when nothing else is left to ask about, ever more rarely", () => {
    const { past, searches } = made();
    past.restored(7 as TaskId, at(1_000));
    const searchedAt = [];
    for (let ms = 0; ms < 1_000_000; ms += 1_000) {
      const before = searches.length;
      assert.deepEqual(past.since(0, 10, at(ms)), []);
      if (searches.length > before) searchedAt.push(ms);
    }
    assert.deepEqual(searchedAt, [1_000, 61_000, 181_000, 421_000, 901_000]);
    assert.ok(searches.every(({ last }) => last === 7));
  });

  test("are named once, by the ids that workers know", () => {
    const { past, searches } = made();
    past.restored(7 as TaskId, at(0));
    past.since(0, 10, at(0));
    const own = { id: 1, door: "scaler", envelope: Buffer.from("\x92\xc4\x02t1\xc4\x01c", "latin1") };
    const other = { id: 2, door: "http", envelope: Buffer.from("\x92\xc4\x02t2\xc4\x01c", "latin1") };
    for (let i = 0; i < 2; i += 1) searches[0]?.take([own, other] as unknown as TaskHead[]);
    assert.deepEqual(past.since(0, 10, at(0)), [Buffer.from("t1"), foreignTaskId(2 as TaskId)]);
    assert.deepEqual(past.since(1, 10, at(0)), [foreignTaskId(2 as TaskId)]);
    assert.deepEqual(past.since(0, 1, at(0)), [Buffer.from("t1")]);
  });

  test("are not searched for if there was no restart", () => {
    const { past, searches } = made();
    past.restored(0 as TaskId, at(0));
    past.since(0, 10, at(1_000_000));
    assert.equal(searches.length, 0);
  });
});
