// Small questions with large answers: bounded by what they cost.

import assert from "node:assert/strict";
import { test } from "node:test";
import { patience } from "../testing/patience.js";
import { ScalerYard } from "../testing/scaler-yard.js";

test("one object that is named very often is answered once", patience, async (t) => {
  const yard = await new ScalerYard().open();
  t.after(() => yard.close());
  const client = await yard.client("repeats itself");
  client.create({ object: Buffer.alloc(8_000) });
  const ids = new Array<Buffer>(1_010).fill(Buffer.from("object"));
  client.say({ type: "object-request", ids });
  const answer = await client.next("object-answer");
  assert.equal(answer.ids.length, ids.length);
  assert.equal(answer.bytes.length, 1);
});
