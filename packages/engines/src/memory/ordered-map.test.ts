import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { OrderedMap } from "./ordered-map.js";

const number = fc.integer({ min: 0, max: 20 });
const action = fc.record({ type: fc.constantFrom("set", "set", "delete", "take"), number });

test("is a map with sorted numbers, whatever was put in or taken out", () => {
  const property = fc.property(fc.array(action, { maxLength: 60, size: "max" }), number, (actions, asked) => {
    const ordered = new OrderedMap<string>();
    let model: [number, string][] = [];
    for (const [step, { type, number }] of actions.entries()) {
      if (type === "take") {
        const taken = ordered.takeRange(0, number);
        const expected = model.filter(([key]) => key <= number).map(([, value]) => value);
        assert.deepEqual(taken, expected);
        model = model.filter(([key]) => key > number);
        continue;
      }
      model = model.filter(([key]) => key !== number);
      if (type === "delete") ordered.delete(number);
      else {
        ordered.set(number, `v${step}`);
        model = [...model, [number, `v${step}`] as [number, string]].sort(([one], [other]) => one - other);
      }
    }
    assert.deepEqual([...ordered.entries()], model);
    assert.equal(ordered.first(), model[0]?.[1]);
    assert.equal(ordered.get(asked), model.find(([key]) => key === asked)?.[1]);
    assert.equal(ordered.atOrBelow(asked), model.findLast(([key]) => key <= asked)?.[1]);
  });
  fc.assert(property, { numRuns: 300 });
});
