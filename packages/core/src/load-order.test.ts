import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { LoadEntry, LoadOrder } from "./load-order.js";

describe("a load order", () => {
  test("is a list sorted by load and then by stamp, read from either end", () => {
    const anyMove = fc.record({ which: fc.nat(7), load: fc.nat(9), isRemoved: fc.boolean() });
    fc.assert(
      fc.property(fc.array(anyMove, { maxLength: 100, size: "max" }), (moves) => {
        const order = new LoadOrder<number>();
        const entries = Array.from({ length: 8 }, (_, index) => new LoadEntry(index));
        moves.forEach(({ which, load, isRemoved }, stamp) => {
          const entry = entries[which] as LoadEntry<number>;
          entry.order?.remove(entry);
          if (!isRemoved) order.add(entry, load, stamp);
          const sorted = entries
            .filter((each) => each.order !== undefined)
            .sort((one, other) => one.load - other.load || one.stamp - other.stamp);
          const rising: LoadEntry<number>[] = [];
          for (let each = order.lowest(); each !== undefined; each = order.after(each)) rising.push(each);
          const falling: LoadEntry<number>[] = [];
          for (let each = order.highest(); each !== undefined; each = order.before(each)) falling.push(each);
          const subjects = (list: LoadEntry<number>[]) => list.map(({ subject }) => subject);
          assert.deepEqual(subjects(rising), subjects(sorted));
          assert.deepEqual(subjects(falling), subjects(sorted).reverse());
          assert.equal(order.size, sorted.length);
        });
      }),
    );
  });
});
