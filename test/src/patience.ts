// The time after which a test counts as hung, and the treatment of figures that depend on the
// machine.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";

/**
 * Not a statement about the machine: real processes start and end in these tests, perhaps on a busy
 * machine.
 */
export const patience = { timeout: 300_000 } as const;

/** Maximum time to wait for something that must happen. */
export const waitMs = 120_000;

/**
 * A figure that is promised for an otherwise idle machine. It is always printed, but exceeding the
 * limit fails only with YARD_MEASURE=1: on a busy machine it says more about the other work.
 */
export function measured(t: TestContext, what: string, ms: number, msMax: number): void {
  t.diagnostic(`${what}: ${ms.toFixed(1)} ms, promised ${msMax} ms`);
  if (process.env.YARD_MEASURE === "1") assert.ok(ms <= msMax, `${what}: ${ms} ms`);
}
