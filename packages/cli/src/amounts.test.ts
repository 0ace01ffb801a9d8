import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  ago,
  count,
  counted,
  durationMs,
  durationText,
  size,
  span,
  timerMs,
  timeText,
  wholeNumber,
} from "./amounts.js";

describe("amounts", () => {
  test("a duration is a number with a unit, and nothing else is read as one", () => {
    assert.deepEqual(
      ["500ms", "30s", "1.5m", "1h", "2d"].map(durationMs),
      [500, 30_000, 90_000, 3_600_000, 172_800_000],
    );
    for (const written of ["5", "", "s", "-1s", "1 s", "1S", "1e3s", "9999999999999s"]) {
      assert.throws(() => durationMs(written), /expected a duration/, written);
    }
  });

  test("durations are written as they are read", () => {
    const all = ["1500ms", "30s", "90s", "5m", "1h", "36h", "2d"];
    assert.deepEqual(
      all.map((written) => durationText(durationMs(written))),
      all,
    );
  });

  test("times are read as they are, or as how long ago", () => {
    assert.equal(timeText("2026-05-01T12:00:00+02:00"), "2026-05-01T10:00:00.000Z");
    const since = Date.now();
    const askedAt = Date.parse(timeText("1h")) + 3_600_000;
    assert.ok(askedAt >= since && askedAt <= Date.now());
    for (const written of ["yesterday", "12", "2026-13-45"])
      assert.throws(() => timeText(written), /expected a time/, written);
  });

  test("whole numbers have a range", () => {
    assert.equal(wholeNumber(1, 5)("5"), 5);
    for (const written of ["0", "6", "1.5", "", "x", "0x2"])
      assert.throws(() => wholeNumber(1, 5)(written), /from 1 to 5/);
  });

  test("are shown in short", () => {
    assert.deepEqual([0, 1023, 1024, 10_240, 5 * 1024 ** 3].map(size), [
      "0 B",
      "1023 B",
      "1.0 KiB",
      "10 KiB",
      "5.0 GiB",
    ]);
    assert.deepEqual(
      [0, 999, 1500, 61_000, 600_000, 90_000_000, 200_000_000].map((ms) => span(ms)),
      ["0 ms", "999 ms", "1.5 s", "61 s", "10 min", "25 h", "2 d"],
    );
    assert.equal(ago("2026-01-01T00:00:00Z", Date.parse("2026-01-01T00:00:05Z")), "5.0 s");
    assert.deepEqual(
      [count(1_234_567), counted(1, "task"), counted(2, "task")],
      ["1,234,567", "1 task", "2 tasks"],
    );
  });
});

test("a timer gets no longer time than it can keep", () => {
  assert.deepEqual(["1h", "30d"].map(timerMs), [3_600_000, 2_147_483_647]);
});
