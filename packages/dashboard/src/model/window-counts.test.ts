import assert from "node:assert/strict";
import { test } from "node:test";
import type { AttemptRow } from "../live/api-shapes.js";
import { AttemptRing } from "./attempt-ring.js";
import { countWindow, workersInWindow } from "./window-counts.js";

function ringOf(rows: AttemptRow[]): AttemptRing {
  const ring = new AttemptRing(100);
  ring.add({
    from: 10_000,
    to: 20_000,
    workers: ["http/a", "http/b", "http/c"],
    queues: ["q"],
    rows,
    busyFrom: null,
    busy: null,
    began: rows.length,
    ended: 0,
    shown: rows.length,
    stalls: [],
  });
  return ring;
}

const ring = ringOf([
  [1, 101, 0, 0, 0, 1_000, "failed", "x", 1],
  [2, 102, 0, 0, 5_000, 6_000, "failed", "x", 1],
  [3, 103, 1, 0, 100, 900, "lost", "silence", 1],
  [4, 104, 2, 0, 5_000, null, "running", null, 1],
]);

test("failures are counted in the window, not since the worker joined", () => {
  const { failed } = countWindow(ring, 14_000, 20_000);
  assert.deepEqual([...failed], [[ring.workers.find("http/a"), 1]]);
});

test("a lost worker has a row while its work is in the window, and then none", () => {
  const worker = (id: string, state: string) => ({ id, state });
  const all = [worker("http/a", "lost"), worker("http/b", "lost"), worker("http/d", "idle")];
  const shown = (from: number) => workersInWindow(all, ring, from, 20_000).map(({ id }) => id);
  assert.deepEqual(shown(10_000), ["http/a", "http/b", "http/d"]);
  assert.deepEqual(shown(14_000), ["http/a", "http/d"]);
  assert.deepEqual(shown(17_000), ["http/d"]);
});
