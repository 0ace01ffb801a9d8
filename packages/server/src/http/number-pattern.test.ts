import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { wholeNumberPattern } from "./number-pattern.js";

test("a pattern fits the numbers of its range and no others", () => {
  fc.assert(
    fc.property(fc.nat(3_000), fc.nat(3_000), (one, other) => {
      const [from, to] = [Math.min(one, other), Math.max(one, other)];
      const pattern = new RegExp(`^(?:${wholeNumberPattern(from, to)})$`);
      for (let number = 0; number <= 3_100; number += 1)
        assert.equal(pattern.test(String(number)), number >= from && number <= to, `${number}: ${pattern}`);
    }),
    { numRuns: 200 },
  );
});
