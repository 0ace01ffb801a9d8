import assert from "node:assert/strict";
import { test } from "node:test";
import { patience } from "../testing/patience.js";
import { fitting } from "./claim-answer.js";
import { YardUnderTest } from "./yard-under-test.js";

const MiB = 2 ** 20;

test("a claim in JSON takes as many payloads as fit into one answer, and a large one alone", () => {
  const taken = (...sizes: number[]) =>
    fitting(sizes.map((size) => ({ task: { payload: { size } } })) as never[]).length;
  assert.equal(taken(10 * MiB, 6 * MiB, 1), 2);
  assert.equal(taken(10 * MiB, 7 * MiB), 1);
  assert.equal(taken(200 * MiB, 1), 1);
  assert.equal(taken(0, 0, 0), 3);
  assert.equal(taken(400_000_001), 0);
});

test("a large answer to a claim comes in pieces, with every payload whole", patience, async (t) => {
  const yard = await new YardUnderTest({ payloadBytesMax: 16 * MiB }).open();
  t.after(() => yard.close());
  const payloads = [3 * MiB, 3 * MiB + 1, 3 * MiB + 2, 0, 1, 8 * MiB].map((size, index) =>
    Buffer.alloc(size, `payload ${index} \u00ff`),
  );
  for (const body of payloads) await yard.ask("POST", "/v1/queues/large/tasks", { body });
  const claimed = async () => {
    const { json } = await yard.ask("POST", "/v1/queues/large:claim?worker=w&max=10");
    return (json as { attempts: { task: string; payload: string; contentType: string }[] }).attempts;
  };
  const [first, second] = [await claimed(), await claimed()];
  assert.deepEqual([first.length, second.length], [5, 1]);
  for (const [index, { task, payload, contentType }] of [...first, ...second].entries()) {
    assert.deepEqual([task, contentType], [String(index + 1), "application/octet-stream"]);
    assert.ok(Buffer.from(payload, "base64").equals(payloads[index] as Buffer), `payload ${index}`);
  }
});
