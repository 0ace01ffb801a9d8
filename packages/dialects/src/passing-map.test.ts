import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PassingMap } from "./passing-map.js";

test("however many entries come and go, it behaves as a Map", () => {
  const commands = fc.array(fc.nat(40), { minLength: 3_000, maxLength: 8_000 });
  fc.assert(
    fc.property(commands, (keys) => {
      const [passing, plain] = [new PassingMap<number, number>(), new Map<number, number>()];
      for (const [value, key] of keys.entries()) {
        assert.equal(passing.get(key), plain.get(key));
        if (plain.has(key)) {
          plain.delete(key);
          assert.equal(passing.delete(key), true);
        } else {
          plain.set(key, value);
          passing.add(key, value);
        }
        assert.equal(passing.delete(-1), false);
        assert.equal(passing.size, plain.size);
      }
    }),
    { numRuns: 20 },
  );
});

test("an entry that stays is kept while 10,000 others come and go", () => {
  const passing = new PassingMap<number, string>();
  passing.add(-1, "stays");
  for (let key = 0; key < 10_000; key += 1) {
    passing.add(key, "goes");
    passing.delete(key);
  }
  assert.deepEqual([passing.get(-1), passing.size], ["stays", 1]);
});
