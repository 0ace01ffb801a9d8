// After how long a test counts as hung, and what becomes of figures that depend on the machine.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";

/** No statement about the machine: real processes start and end in here, perhaps beside much other work. */
export const patience = { timeout: 300_000 } as const;

/** How long requests wait for what has to come. */
export const waitMs = 120_000;

/**
 * A figure that is promised of a machine with nothing else to do: shown always, and a failure above its limit only with
 * YARD_MEASURE=1. Beside other work it says more about that than about us.
 */
export function measured(t: TestContext, what: string, ms: number, msMax: number): void {
  t.diagnostic(`${what}: ${ms.toFixed(1)} ms, promised ${msMax} ms`);
  if (process.env.YARD_MEASURE === "1") assert.ok(ms <= msMax, `${what}: ${ms} ms`);
}
