// Workers over http that leave: in order, with a goodbye, or silently.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { HandDoor } from "../testing/hand-door.js";
import type { TaskJson } from "./task-json.js";
import { YardUnderTest } from "./yard-under-test.js";

describe("the end of an http worker", { timeout: 30_000 }, () => {
  let yard: YardUnderTest;
  let hand: HandDoor;
  before(async () => {
    yard = new YardUnderTest();
    hand = new HandDoor(yard.runtime.port("hand"));
    yard.runtime.attach(hand);
    await yard.open();
  });
  after(() => yard.close());

  const leave = (id: string) => yard.ask("POST", `/v1/workers/${encodeURIComponent(id)}:leave`);
  const codeOf = (json: unknown) => (json as { code: string }).code;

  async function find(id: string) {
    type Workers = { items: { id: string; state: string; slots: number }[] };
    const { items } = (await yard.ask("GET", "/v1/workers")).json as Workers;
    return items.find((worker) => worker.id === id);
  }

  const stateOf = async (id: string) => (await find(id))?.state;

  test("one that has gone without a word is idle, not busy, and why says the same", async () => {
    assert.deepEqual(await yard.claim("silent", "s"), []);
    const { id } = await yard.submit("silent", "x");
    assert.equal(await stateOf("http/s"), "idle");
    const { why } = await yard.task(id);
    assert.deepEqual(
      [why?.code, why?.message],
      ["no_worker", "No worker is asking for tasks of queue silent; one that did is idle."],
    );
  });

  test("a goodbye gives back attempts without costing a try; the worker is neither there nor lost", async () => {
    const { id } = await yard.submit("q", "x", "?attempts=1");
    const [attempt] = await yard.claim("q", "a b/c:ü");
    assert.ok(attempt);
    const waiting = yard.ask(
      "POST",
      `/v1/queues/other:claim?worker=${encodeURIComponent("a b/c:ü")}&wait=20s`,
    );
    await yard.eventually(async () => ((await find("http/a b/c:ü"))?.slots === 2 ? true : undefined));
    const { status, text } = await leave("http/a b/c:ü");
    assert.deepEqual([status, text], [204, ""]);
    assert.equal((await waiting).status, 204);
    assert.equal(await stateOf("http/a b/c:ü"), undefined);
    const task = await yard.task(id);
    assert.deepEqual([task.state, task.story.at(-1)?.cause], ["waiting", "returned: goodbye"]);
    assert.equal(task.why?.message, "No worker serves queue q.");
    // Its report about this attempt now comes too late.
    const late = await yard.speak(attempt, "done", { body: "late" });
    assert.deepEqual([late.status, codeOf(late.json)], [409, "stale_attempt"]);
    const [next] = await yard.claim("q", "other");
    assert.equal(next?.task, id);
    assert.equal((await yard.speak(next, "done")).status, 200);
    assert.equal(((await yard.task(id)) as TaskJson).state, "done");
  });

  test("a worker that is not there is not found, the second time too; it may come back", async () => {
    assert.equal((await leave("http/nobody")).status, 404);
    await yard.claim("back", "w");
    assert.equal((await leave("http/w")).status, 204);
    const again = await leave("http/w");
    assert.deepEqual([again.status, codeOf(again.json)], [404, "not_found"]);
    const { id } = await yard.submit("back", "x");
    const claims = await Promise.all([leave("http/w"), yard.claim("back", "w", "&wait=10s")]);
    assert.equal(claims[1][0]?.task, id);
    assert.equal(await stateOf("http/w"), "busy");
  });

  test("a worker of another door says goodbye there", async () => {
    hand.join("hand/h", "hands");
    const { status, json } = await leave("hand/h");
    assert.deepEqual([status, codeOf(json)], [400, "bad_request"]);
    assert.equal(await stateOf("hand/h"), "idle");
  });
});
