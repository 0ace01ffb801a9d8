import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instant, Moment, WallTime } from "@yardmaster/core";
import { CommitPace } from "./commit-pace.js";

const at = (ms: number): Moment => ({ instant: ms as Instant, wall: (1_700_000_000_000 + ms) as WallTime });

test("commits are slow while they take several times as long as usual", () => {
  const pace = new CommitPace();
  for (let ms = 0; ms < 60_000; ms += 100) pace.add(2, at(ms));
  assert.equal(pace.slow(at(60_000), 0), undefined);
  for (let ms = 60_000; ms < 75_000; ms += 400) pace.add(400, at(ms));
  const slow = pace.slow(at(75_000), 0);
  assert.ok(
    slow !== undefined && Math.round(slow.commitMs) === 400 && slow.usualMs === 2,
    JSON.stringify(slow),
  );
  assert.equal(pace.slow(at(76_000), 0)?.since, slow.since);
  for (let ms = 80_000; ms < 95_000; ms += 100) pace.add(2, at(ms));
  assert.equal(pace.slow(at(95_000), 0), undefined);
});

test("a commit that hangs is slow at once, and what was always slow is usual", () => {
  const hanging = new CommitPace();
  assert.equal(hanging.slow(at(1_500), 900), undefined);
  assert.equal(hanging.slow(at(1_500), 1_400)?.commitMs, 1_400);
  const always = new CommitPace();
  for (let ms = 0; ms < 60_000; ms += 100) always.add(150, at(ms));
  assert.equal(always.slow(at(60_000), 0), undefined);
});
