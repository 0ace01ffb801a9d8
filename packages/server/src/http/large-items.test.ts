// Items of a batch that are too large to be parsed at once. They have the same effect as small
// ones, and other requests do not wait for them.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { JsonScanner } from "./json-scanner.js";
import { type CutValue, openLargeItem, parsedBytesMax } from "./large-items.js";
import { YardUnderTest } from "./yard-under-test.js";

const timeout = 60_000;
const large = "x".repeat(parsedBytesMax);

function faultOf(text: string | Buffer, sliceBytes = 7): string | undefined {
  const scanner = new JsonScanner(Buffer.from(text as string), 100);
  while (!scanner.scan(sliceBytes));
  return scanner.fault;
}

test("the scanner takes what JSON.parse takes, whatever the slices", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), fc.integer({ min: 1, max: 20 }), (json, slice) => {
      assert.equal(faultOf(json, slice), undefined);
    }),
  );
});

test("the scanner refuses what JSON.parse refuses", () => {
  const near = fc.string({ unit: fc.constantFrom(...'[]{},:"\\ut1-.e0 nl\n'), maxLength: 12 });
  fc.assert(
    fc.property(near, (text) => {
      assert.equal(faultOf(text) === undefined, isJson(text), JSON.stringify(text));
    }),
    { numRuns: 5_000 },
  );
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test("a value that is cut out keeps its bytes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary" }), async (text) => {
      const value = text.repeat(3) + large;
      const item = Buffer.from(JSON.stringify({ priority: 3, payload: value, key: "k" }));
      const { text: left, cut } = await openLargeItem(item, 1, 100);
      assert.deepEqual(JSON.parse(left), { priority: 3, payload: "", key: "k" });
      const payload = cut.get("payload") as CutValue;
      assert.equal(payload.isText, true);
      assert.ok(payload.bytes.equals(Buffer.from(value)));
    }),
    { numRuns: 50 },
  );
});

test("large items of a batch are taken in their order, and unchanged", { timeout }, async (t) => {
  const yard = await new YardUnderTest({ payloadBytesMax: 4_000_000 }).open();
  t.after(() => yard.close());
  const bytes = Buffer.alloc(100_000, 7);
  const items = [
    { payload: "first" },
    { payload: `"\\ü${large}` },
    { payload: { list: [large, 1] }, priority: 2 },
    { payloadBase64: bytes.toString("base64") },
    { payload: "x", key: large },
    { payload: "last" },
  ];
  const body = items.map((item) => `${JSON.stringify(item)}\n`).join("");
  const { json } = await yard.ask("POST", "/v1/queues/large/tasks:batch", { body });
  const answers = (json as { items: { id?: string; contentType?: string; code?: string }[] }).items;
  assert.deepEqual(
    answers.map(({ contentType, code }) => contentType ?? code),
    [
      ...["text/plain; charset=utf-8", "text/plain; charset=utf-8", "application/json"],
      ...["application/octet-stream", "payload_too_large", "text/plain; charset=utf-8"],
    ],
  );
  const ids = answers.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]));
  assert.deepEqual(ids, [1, 2, 3, 4, 5]);
  const payload = async (id: number) => (await yard.ask("GET", `/v1/tasks/${id}/payload`)).text;
  assert.equal(await payload(2), `"\\ü${large}`);
  assert.deepEqual(JSON.parse(await payload(3)), { list: [large, 1] });
  assert.equal(await payload(4), bytes.toString());
});

test("a value of very many small ones delays no other request", { timeout }, async (t) => {
  const yard = await new YardUnderTest({ payloadBytesMax: 40_000_000 }).open();
  t.after(() => yard.close());
  const body = `{"payload":[{}${",{}".repeat(8_000_000)}]}`;
  let longestMs = 0;
  let isOver = false;
  const watch = (last: number): void => {
    const usedMs = process.cpuUsage().user / 1000;
    longestMs = Math.max(longestMs, usedMs - last);
    if (!isOver) setImmediate(watch, usedMs);
  };
  const submitted = yard.ask("POST", "/v1/queues/bomb/tasks:batch", { body });
  watch(process.cpuUsage().user / 1000);
  const { status, json } = await submitted;
  isOver = true;
  assert.equal(status, 200);
  assert.equal((json as { items: { payloadBytes: number }[] }).items[0]?.payloadBytes, body.length - 12);
  // JSON.parse alone takes 3,400 ms for this. What remains is joining the pieces.
  assert.ok(longestMs < 500, `the longest turn took ${longestMs} ms of processor time`);
});
