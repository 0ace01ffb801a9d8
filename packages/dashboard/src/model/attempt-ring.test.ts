import assert from "node:assert/strict";
import { test } from "node:test";
import type { AttemptFrame, AttemptRow } from "../live/api-shapes.js";
import { AttemptRing, outcomes } from "./attempt-ring.js";
import { BusyHistory } from "./busy-history.js";

function frame(rows: AttemptRow[], given: Partial<AttemptFrame> = {}): AttemptFrame {
  const from = given.from ?? 1_000;
  return {
    from,
    to: from + 250,
    workers: ["http/a", "http/b"],
    queues: ["q"],
    rows,
    busyFrom: null,
    busy: null,
    began: rows.length,
    ended: 0,
    shown: rows.length,
    stalls: [],
    ...given,
  };
}

test("a start and its end are one box, and lanes are given while attempts run", () => {
  const ring = new AttemptRing(10);
  ring.add(
    frame([
      [1, 101, 0, 0, 10, null, "running", null, 1],
      [2, 102, 0, 0, 20, null, "running", null, 1],
    ]),
  );
  assert.equal(ring.size, 2);
  assert.deepEqual([ring.lane[0], ring.lane[1]], [0, 1]);
  ring.add(frame([[1, 101, 0, 0, -240, 5, "done", null, 1]], { from: 1_250 }));
  assert.equal(ring.size, 2);
  assert.equal(ring.end[0], 1_255);
  assert.equal(outcomes[ring.outcome[0] as number], "done");
  assert.equal(ring.runningCount, 1);
  ring.add(frame([[3, 103, 0, 0, 10, null, "running", null, 1]], { from: 1_500 }));
  assert.equal(ring.lane[2], 0);
});

test("the next attempt of a lost task knows where it was lost", () => {
  const ring = new AttemptRing(10);
  ring.add(frame([[7, 1, 0, 0, 0, 50, "lost", "silence", 1]]));
  ring.add(frame([[7, 2, 1, 0, 60, null, "running", null, 2]]));
  assert.equal(ring.movedFrom[1], 0);
  assert.equal(ring.reasons.name(ring.reason[0] as number), "silence");
});

test("the oldest is overwritten when the ring is full, running or not", () => {
  const ring = new AttemptRing(3);
  for (let at = 1; at <= 5; at += 1) ring.add(frame([[at, at, 0, 0, at, null, "running", null, 1]]));
  assert.equal(ring.size, 3);
  assert.equal(ring.runningCount, 3);
  assert.deepEqual(
    [...ring.newestFirst()].map((slot) => ring.task[slot]),
    [5, 4, 3],
  );
  ring.add(frame([[1, 1, 0, 0, 1, 9, "done", null, 1]]));
  assert.equal(ring.size, 3, "an end whose start is gone is a box of its own");
  assert.equal(ring.runningCount, 2);
});

test("what ran when the stream broke off ends there", () => {
  const ring = new AttemptRing(4);
  ring.add(frame([[1, 1, 0, 0, 0, null, "running", null, 1]]));
  ring.forgetRunning(2_000);
  assert.equal(ring.end[0], 2_000);
  assert.equal(ring.runningCount, 0);
});

test("busy time is exact between two moments, and a silence of the stream is a gap", () => {
  const [ring, busy] = [new AttemptRing(4), new BusyHistory()];
  busy.add(frame([], { from: 1_000, to: 2_000, busyFrom: 1_000, busy: [[0, 0, 2, 1_500]] }), ring);
  busy.add(frame([], { from: 2_000, to: 3_000, busyFrom: 2_000, busy: [[0, 0, 1, 1_000]] }), ring);
  assert.equal(busy.workedMs(1_500, 2_500).get(0), 750 + 500);
  assert.equal(busy.lastTo, 3_000);
  busy.add(frame([], { from: 9_000, to: 9_250 }), ring);
  assert.deepEqual(busy.gaps, [{ from: 3_000, to: 9_000 }]);
});
