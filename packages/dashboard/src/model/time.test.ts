import assert from "node:assert/strict";
import { test } from "node:test";
import { duration, figureAge, fineDuration, parseDuration, sinceWords, timeStep } from "./time.js";

test("durations have the units that matter", () => {
  const written = [
    0, 2, 40, 200, 3_200, 27_400, 59_700, 88_000, 372_000, 3_600_000, 22_320_000, 200_000_000,
  ].map(duration);
  const expected = [
    "0 s",
    "0.002 s",
    "0.04 s",
    "0.2 s",
    "3.2 s",
    "27 s",
    "1 min",
    "1 min 28 s",
    "6 min 12 s",
    "1 h",
    "6 h 12 min",
    "2 days",
  ];
  assert.deepEqual(written, expected);
  assert.equal(fineDuration(14_200), "14.2 s");
  assert.equal(fineDuration(88_000), "1 min 28 s");
});

test("the large figure of an age is a clock from a minute on", () => {
  assert.deepEqual([200, 27_000, 372_000, 3_723_000].map(figureAge), ["0.2 s", "27 s", "6:12", "1:02:03"]);
});

test("what a person writes as a duration is read, and nothing else", () => {
  assert.deepEqual(
    ["500ms", "30s", "5m", "1h", "7d", "1.5h"].map(parseDuration),
    [500, 30_000, 300_000, 3_600_000, 604_800_000, 5_400_000],
  );
  assert.deepEqual(["", "5", "m5", "1w", "1h1m"].map(parseDuration), [
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test("an axis has round steps", () => {
  assert.equal(timeStep(60_000, 7), 10_000);
  assert.equal(timeStep(14_200, 8), 2_000);
  assert.equal(timeStep(5, 8), 1);
  assert.equal(timeStep(23, 8), 5);
  assert.ok(timeStep(40 * 86_400_000, 7) >= 86_400_000);
});

test("since when, in words", () => {
  const noon = new Date(2026, 10, 16, 12).getTime();
  assert.equal(sinceWords(noon - 60_000, noon), "since 11:59");
  assert.equal(sinceWords(noon - 86_400_000, noon), "since yesterday");
  assert.equal(sinceWords(noon - 6 * 86_400_000, noon), "since 6 days ago");
});
