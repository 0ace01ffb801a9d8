// The gate for gathered bodies: who begins, who waits, and in which order.

import assert from "node:assert/strict";
import { test } from "node:test";
import { GatherGate, type Gathering } from "./gather-gate.js";

/** Bodies of the given lengths at a gate of 100 bytes, and those that have begun. */
function bodies(...lengths: number[]) {
  const gate = new GatherGate();
  const begun: number[] = [];
  const all = lengths.map((length, index): Gathering => ({ length, begin: () => begun.push(index) }));
  return {
    begun,
    enter: (index: number) => gate.enter(all[index] as Gathering, 100),
    leave: (index: number) => gate.leave(all[index] as Gathering, 100),
  };
}

test("bodies that fit begin at once, the others in order when there is room", () => {
  const { begun, enter, leave } = bodies(60, 40, 30, 10);
  for (const index of [0, 1, 2, 3]) enter(index);
  assert.deepEqual(begun, [0, 1]);
  leave(1);
  assert.deepEqual(begun, [0, 1, 2, 3]);
});

test("one body alone begins even if it is over the limit, and the next waits for it", () => {
  const { begun, enter, leave } = bodies(1_000, 1_000, 1);
  for (const index of [0, 1, 2]) enter(index);
  assert.deepEqual(begun, [0]);
  leave(0);
  assert.deepEqual(begun, [0, 1]);
  leave(1);
  assert.deepEqual(begun, [0, 1, 2]);
});

test("one that leaves while it waits never begins, and leaving twice counts once", () => {
  const { begun, enter, leave } = bodies(100, 50, 60, 100);
  for (const index of [0, 1, 2]) enter(index);
  leave(1);
  leave(0);
  leave(0);
  assert.deepEqual(begun, [0, 2]);
  enter(3);
  assert.deepEqual(begun, [0, 2]);
  leave(2);
  assert.deepEqual(begun, [0, 2, 3]);
});
