// `top` says what the page says: its words are compared with those of the page's own code.

import assert from "node:assert/strict";
import { test } from "node:test";

const page = (name: string) =>
  import(new URL(`../../../packages/dashboard/dist/model/${name}.js`, import.meta.url).href);
const top = await import(new URL("../../../packages/cli/dist/top/page-words.js", import.meta.url).href);

test("durations, ages and rates are written as on the page", async () => {
  const { duration, figureAge, clock } = await page("time");
  const { rate } = await page("numbers");
  for (let ms = 0; ms < 1e9; ms = ms * 1.37 + 0.5) {
    assert.equal(top.duration(ms), duration(ms));
    assert.equal(top.figureAge(ms), figureAge(ms));
  }
  for (let value = 0.001; value < 1e7; value *= 1.31) assert.equal(top.rate(value), rate(value));
  assert.equal(top.clock(1_794_839_527_000), clock(1_794_839_527_000));
});

test("a queue has the same signal as on the page", async () => {
  const { signalOf } = await page("queue-signals");
  const now = Date.parse("2026-11-16T14:32:07Z");
  const seen = new Set<string>();
  const codes = [
    "no_worker",
    "all_busy",
    "delayed",
    "paused",
    "backoff",
    "draining",
    "recovering",
    "does_not_fit",
    "blocked",
    "limited",
  ];
  for (const paused of [false, true])
    for (const draining of [false, true])
      for (const code of ["", ...codes])
        for (const other of ["", ...codes])
          for (const ageMs of [undefined, 200, 60_000]) {
            const waitingBy = { ...(code ? { [code]: 2 } : {}), ...(other ? { [other]: 1 } : {}) };
            const oldestAt = ageMs === undefined ? null : new Date(now - ageMs).toISOString();
            const waiting = Object.values(waitingBy).reduce((sum, tasks) => sum + tasks, 0);
            const queue = { paused, draining, waitingBy, waiting, oldestAt };
            assert.equal(top.signalOf(queue, now), signalOf(queue, now), JSON.stringify(queue));
            seen.add(signalOf(queue, now));
          }
  assert.equal(seen.size, 6);
});
