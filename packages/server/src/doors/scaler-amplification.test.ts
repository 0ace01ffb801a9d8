// Small requests with large answers are limited by the size of the answer.

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

test(
  "a client that names many objects that do not exist keeps nobody else from working",
  patience,
  async (t) => {
    const yard = await new ScalerYard({ payloadBytesMax: 20_000_000 }).open();
    t.after(() => yard.close());
    const hostile = await yard.client("hostile");
    // Each of these tasks takes about 8 MB of the 64 MiB for such objects.
    for (let task = 0; task < 12; task++)
      hostile.task(`hostile ${task}`, {
        args: Array.from({ length: 30_000 }, (_, index) => `${task}-${index}`),
      });
    assert.match(await hostile.told(), / W$/);
    const client = await yard.client("honest");
    client.create({ f: "function", x: "argument" });
    client.task("unknown", { args: ["y"] });
    assert.equal(await client.told(), "unknown W");
    client.task("known", { args: ["x"] });
    client.graph("graph", ["second"], { first: [], second: ["first"] });
    client.cancel("known");
    assert.equal(await client.told(), "known C");
  },
);
