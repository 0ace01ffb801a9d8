// For tests: the time after which a test counts as hung. It says nothing about the machine: a test
// that needs a second may need a minute on a busy one, and a passing test is never slower for it.

import assert from "node:assert/strict";

export const patience = { timeout: 120_000 } as const;

/**
 * The dispatcher and the test read their clocks at different moments, and times are shown in
 * milliseconds.
 */
const clockMs = 100;

/** Asserts that a time is `ms` after its creation, which was between `since` and now. */
export function assertAhead(time: string | undefined, ms: number, since: number): void {
  const madeAt = Date.parse(time ?? "") - ms;
  assert.ok(madeAt >= since - clockMs && madeAt <= Date.now() + clockMs, `${time} is not ${ms} ms ahead`);
}
