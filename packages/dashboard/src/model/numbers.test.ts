import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, count, counted, ordinal, percent, rate } from "./numbers.js";

test("numbers are written as people read them", () => {
  assert.equal(count(15_348), "15,348");
  assert.equal(count(1_000_000), "1,000,000");
  assert.deepEqual([0, 0.02, 0.13, 0.999, 2.9, 9.96, 545.6, 1_234].map(rate), [
    "0",
    "0.02",
    "0.13",
    "1",
    "2.9",
    "10",
    "546",
    "1,234",
  ]);
  assert.deepEqual([0, 999, 1_204, 84_200, 48_000_000, 999_600].map(bytes), [
    "0 B",
    "999 B",
    "1.2 KB",
    "84.2 KB",
    "48 MB",
    "1 MB",
  ]);
  assert.equal(counted(1, "task"), "1 task");
  assert.equal(counted(1_204, "task"), "1,204 tasks");
  assert.deepEqual([1, 3, 11, 22, 113].map(ordinal), ["first", "third", "11th", "22nd", "113th"]);
  assert.equal(percent(1.7), "100%");
});
