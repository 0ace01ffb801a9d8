import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { patience } from "../testing/patience.js";
import { YardUnderTest } from "./yard-under-test.js";

let yard: YardUnderTest;
before(async () => {
  yard = await new YardUnderTest().open();
  for (const queue of ["thumbs-a", "thumbs-b", "render"]) {
    await yard.submit(queue, "x");
    await yard.claim(queue, `worker-of-${queue}`);
  }
});
after(() => yard.close());

async function listed(path: string, key: "id" | "name"): Promise<unknown[]> {
  const { items } = (await yard.ask("GET", path)).json as { items: Record<string, unknown>[] };
  return items.map((item) => item[key]).sort();
}

test("a part of the queues is found by words, and limited", patience, async () => {
  assert.deepEqual(await listed("/v1/queues?q=THUMBS", "name"), ["thumbs-a", "thumbs-b"]);
  assert.equal((await listed("/v1/queues?q=thumbs&limit=1", "name")).length, 1);
  assert.deepEqual(await listed("/v1/queues?q=nothing", "name"), []);
  assert.equal((await yard.ask("GET", "/v1/queues?limit=0")).status, 400);
});

test("a part of the workers is found by name and by queue", patience, async () => {
  assert.deepEqual(await listed("/v1/workers?q=of-render", "id"), ["http/worker-of-render"]);
  assert.equal((await listed("/v1/workers?q=thumbs", "id")).length, 2);
  assert.equal((await listed("/v1/workers?limit=2", "id")).length, 2);
});
