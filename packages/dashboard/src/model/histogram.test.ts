import assert from "node:assert/strict";
import { test } from "node:test";
import { histogramOf } from "./histogram.js";

test("a filter that matches nothing has no time axis", () => {
  const histogram = { from: "1970-01-01T00:00:00.000Z", stepMs: 1, queues: {} };
  assert.equal(histogramOf({ count: 0, histogram }, [], 0), undefined);
  const drawn = histogramOf({ count: 2, histogram: { ...histogram, queues: { a: [0, 2] } } }, [], 0);
  assert.deepEqual(drawn?.columns, [[], [{ queue: "a", count: 2 }]]);
  assert.equal(drawn?.top, 2);
});
