// For tests: after how long one counts as hung. This is no statement about the machine: a test that needs a second may
// need a minute beside other work, and one that passes is never the slower for it.

import assert from "node:assert/strict";

export const patience = { timeout: 120_000 } as const;

/** The dispatcher's clock and ours are read apart, and shown in milliseconds. */
const clockMs = 100;

/** That a time is `ms` ahead of when it was made, which was between `since` and now, however long that took. */
export function assertAhead(time: string | undefined, ms: number, since: number): void {
  const madeAt = Date.parse(time ?? "") - ms;
  assert.ok(madeAt >= since - clockMs && madeAt <= Date.now() + clockMs, `${time} is not ${ms} ms ahead`);
}
