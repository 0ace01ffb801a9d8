import assert from "node:assert/strict";
import { test } from "node:test";
import type { Moment } from "@yardmaster/core";
import { ReadBacklog } from "./read-backlog.js";

const turnAt = (ms: number) => ({ instant: ms, wall: ms }) as Moment;

test("where a turn read as much as it could there is more to read, and otherwise not", () => {
  const backlog = new ReadBacklog();
  const read = (count: number) => {
    const turn = turnAt(0);
    for (let each = 0; each < count; each += 1) backlog.read(turn);
  };
  for (let turns = 0; turns < 10; turns += 1) read(31);
  assert.equal(backlog.takeIsBehind(), false);
  read(32);
  read(1);
  assert.deepEqual([backlog.takeIsBehind(), backlog.takeIsBehind()], [true, false]);
});
