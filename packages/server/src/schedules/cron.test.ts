// Cron expressions in time zones: what becomes of times that a change of daylight saving skips or
// repeats, and expressions with mistakes.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { WallTime } from "@yardmaster/core";
import { cronFault, nextCron } from "./cron.js";

/** The next times after this one. */
function times(cron: string, after: string, count: number): string[] {
  const found: string[] = [];
  let last = Date.parse(after) as WallTime;
  while (found.length < count) {
    const next = nextCron(cron, "Europe/Berlin", last);
    if (next === undefined) break;
    found.push(new Date(next).toISOString());
    last = next;
  }
  return found;
}

test("a time that the change skips runs at the end of the gap, once", () => {
  // On 29 March 2026 the clocks go from 02:00 to 03:00, which is 01:00 UTC.
  assert.deepEqual(times("30 2 * * *", "2026-03-28T12:00:00Z", 2), [
    "2026-03-29T01:00:00.000Z",
    "2026-03-30T00:30:00.000Z",
  ]);
});

test("a time that occurs twice runs once, at the first", () => {
  // On 25 October 2026 the clocks go from 03:00 back to 02:00: 02:30 is at 00:30 and at 01:30 UTC.
  assert.deepEqual(times("30 2 * * *", "2026-10-24T12:00:00Z", 2), [
    "2026-10-25T00:30:00.000Z",
    "2026-10-26T01:30:00.000Z",
  ]);
});

test("an expression with several times of day follows the clock on the wall", () => {
  const spring = "2026-03-28T23:20:00Z";
  assert.deepEqual(times("*/30 1-3 * * *", spring, 4), [
    "2026-03-29T00:00:00.000Z", // 01:00
    "2026-03-29T00:30:00.000Z", // 01:30
    "2026-03-29T01:00:00.000Z", // 03:00
    "2026-03-29T01:30:00.000Z", // 03:30
  ]);
  // No time of this day exists.
  assert.deepEqual(times("0,30 2 * * *", spring, 1), ["2026-03-30T00:00:00.000Z"]);
  const autumn = "2026-10-24T23:50:00Z";
  assert.deepEqual(times("0,30 2 * * *", autumn, 5), [
    "2026-10-25T00:00:00.000Z", // 02:00, summer time
    "2026-10-25T00:30:00.000Z",
    "2026-10-25T01:00:00.000Z", // 02:00 again
    "2026-10-25T01:30:00.000Z",
    "2026-10-26T01:00:00.000Z",
  ]);
  assert.deepEqual(times("30 * * * *", autumn, 3), [
    "2026-10-25T00:30:00.000Z",
    "2026-10-25T01:30:00.000Z",
    "2026-10-25T02:30:00.000Z",
  ]);
});

test("whenever it is asked, the next time is the same, later than now, and none is passed over", () => {
  const stepMs = 300_000;
  for (const cron of ["30 2 * * *", "*/15 * * * *", "30 1-3 * * *"]) {
    for (const day of ["2026-03-29", "2026-10-25"]) {
      const from = Date.parse(`${day}T00:00:00Z`) - 2 * 3_600_000;
      const all = times(cron, new Date(from).toISOString(), 48);
      for (let at = from; at < from + 6 * 3_600_000; at += stepMs) {
        const expected = all.find((time) => Date.parse(time) > at);
        assert.deepEqual(times(cron, new Date(at).toISOString(), 1), [expected], cron);
      }
    }
  }
});

test("six fields begin with seconds", () => {
  assert.deepEqual(times("15 0 12 * * *", "2026-01-01T00:00:00Z", 1), ["2026-01-01T11:00:15.000Z"]);
});

test("a date that does not exist never fires", () => {
  assert.deepEqual(times("0 0 30 2 *", "2026-01-01T00:00:00Z", 1), []);
});

test("a mistake in an expression is named", () => {
  assert.equal(cronFault("0 0 * * *", "Europe/Berlin"), undefined);
  assert.equal(cronFault("0 0 * * *", "Mars/Olympus")?.name, "timezone");
  for (const cron of ["* * *", "61 * * * *", "a b c d e", "* * * * * * *", "0 0 30 2 *"])
    assert.equal(cronFault(cron, "UTC")?.name, "cron", cron);
});
