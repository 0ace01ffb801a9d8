// Small requests with large answers are limited by the size of the answer, and messages of very
// many frames are carried out a part per turn.

import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../testing/memory-runtime.js";
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

/** As many as fill several turns. */
const many = Array.from({ length: 90_000 }, (_, index) => `object-${index}`);
const room = { config: { objectBytes: 100_000_000, largestObjectBytes: 100_000_000 } };
const objects = Object.fromEntries(many.map((name) => [name, name]));

test("a client that creates very many objects at once keeps nobody waiting", patience, async (t) => {
  const yard = await new ScalerYard(room).open();
  t.after(() => yard.close());
  const [hostile, honest] = [await yard.client("hostile"), await yard.client("honest")];
  const { objects: stored } = yard.door;
  hostile.create(objects);
  await until(() => stored.size > 0 || undefined);
  honest.create({ f: "function" });
  assert.deepEqual(await honest.fetch("f"), ["function"]);
  assert.ok(stored.size < many.length, `${stored.size} objects before the other client was served`);
  // What the client says after the message is read after it.
  assert.deepEqual(await hostile.fetch(many.at(-1) ?? ""), [many.at(-1)]);
  hostile.remove(...many);
  hostile.beat();
  await until(() => stored.size < many.length || undefined);
  assert.ok(stored.size > 1, "they are deleted a part per turn");
  assert.deepEqual(await honest.fetch("f"), ["function"]);
  await hostile.next("client-heartbeat-echo");
  assert.equal(stored.size, 1);
});

test("the objects of a client that leaves are released a part per turn", patience, async (t) => {
  const yard = await new ScalerYard(room).open();
  t.after(() => yard.close());
  const { objects: stored } = yard.door;
  const client = await yard.client("comes back");
  client.create(objects);
  client.beat();
  await client.next("client-heartbeat-echo");
  assert.equal(stored.size, many.length);
  client.say({ type: "client-disconnect", kind: "disconnect" });
  await until(() => stored.size < many.length || undefined);
  assert.ok(stored.size > 1, "they are released a part per turn");
  // It comes back before all is released, and creates one of them again.
  const [first = "", last = ""] = [many[0], many.at(-1)];
  client.create({ [last]: last, [first]: "new" });
  await until(() => stored.size === 2 || undefined);
  assert.deepEqual(await client.fetch(first, last), ["new", last]);
});

test("a task with too many arguments fails with the reason", patience, async (t) => {
  const yard = await new ScalerYard(room).open();
  t.after(() => yard.close());
  const client = await yard.client("verbose");
  client.task("large", { args: new Array<string>(50_000).fill("x") });
  const { status, results } = await client.next("task-result");
  assert.equal(status, "F");
  assert.match(String(await client.fetch(...results)), /The task has 100005 frames/);
});
