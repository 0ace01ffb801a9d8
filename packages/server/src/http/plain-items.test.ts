import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { submitItem } from "./parameters.js";
import { plainEnding, plainSubmission } from "./plain-items.js";

test("an item read without the schema is the same as one read with it", () => {
  const value = fc.oneof(
    fc.record({ payload: fc.string() }),
    fc.record(
      { payload: fc.oneof(fc.string(), fc.jsonValue()), priority: fc.integer() },
      { requiredKeys: [] },
    ),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(value, (one) => {
      const read = plainSubmission(one);
      if (read !== undefined) assert.deepEqual(submitItem.parse(one), read);
    }),
  );
});

test("an ending that is not plain is left to the schema", () => {
  const plain = { task: "17", attempt: 4294967297, result: "ok" };
  assert.deepEqual(plainEnding(plain), { ...plain, task: 17 });
  for (const other of [
    null,
    "text",
    { ...plain, token: "t" },
    { ...plain, task: "017" },
    { ...plain, task: "9999999999999999" },
    { ...plain, task: 17 },
    { ...plain, attempt: 0.5 },
    { ...plain, result: { json: true } },
    { ...plain, contentType: "image/png" },
    { ...plain, error: { message: "both" } },
  ])
    assert.equal(plainEnding(other), undefined, JSON.stringify(other));
});
