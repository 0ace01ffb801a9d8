import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defaultBackoff } from "./limits.js";
import { retryDelayMs, retryDelayMsMax } from "./retry-policy.js";

describe("the wait before the next try", () => {
  test("is none after the first try, then a second, doubled each time up to a minute", () => {
    const waits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1000].map((count) => retryDelayMs(count, 0.5));
    assert.deepEqual(waits, [0, 0, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  test("has a fifth of jitter either way", () => {
    assert.equal(retryDelayMs(2, 0), 800);
    assert.equal(retryDelayMs(2, 0.999_999), 1200);
    assert.equal(retryDelayMs(1000, 0.999_999_999), retryDelayMsMax(defaultBackoff));
    assert.equal(retryDelayMs(1, 0.9), 0);
  });
});
