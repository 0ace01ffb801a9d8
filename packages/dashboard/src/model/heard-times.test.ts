import assert from "node:assert/strict";
import { test } from "node:test";
import { HeardTimes } from "./heard-times.js";

test("a worker's times rise, are bounded, and are taken once", () => {
  const heard = new HeardTimes();
  for (let at = 1; at <= 200; at += 1) heard.add("http/a", at * 1_000);
  heard.add("http/a", 200_000);
  heard.add("http/a", 100_000);
  const times = heard.of("http/a");
  assert.deepEqual([times.length, times[0], times.at(-1)], [90, 111_000, 200_000]);
  heard.add("http/b", 5_000);
  assert.deepEqual(heard.takeFresh(300_000).at(-1), { worker: "http/b", at: 5_000 });
  assert.deepEqual(heard.takeFresh(300_000), []);
  heard.forget("http/a");
  assert.deepEqual(heard.of("http/a"), []);
});

test("more workers than have rows are not followed", () => {
  const heard = new HeardTimes();
  for (let at = 0; at < 1_000; at += 1) heard.add(`http/${at}`, 1_000);
  assert.deepEqual([heard.of("http/399"), heard.of("http/400")], [[1_000], []]);
});

test("what was heard after the time that is drawn is taken later", () => {
  const heard = new HeardTimes();
  heard.add("http/a", 5_000);
  assert.deepEqual(heard.takeFresh(4_900), []);
  assert.deepEqual(heard.takeFresh(5_000), [{ worker: "http/a", at: 5_000 }]);
});
