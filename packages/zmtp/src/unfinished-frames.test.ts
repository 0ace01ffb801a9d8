import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { UnfinishedFrames } from "./unfinished-frames.js";

const sizes = fc.oneof(fc.nat(3), fc.integer({ min: 250, max: 260 }), fc.nat(70_000));

test("frames come back as they were, however reads cut them", () => {
  fc.assert(
    fc.property(fc.array(fc.array(sizes, { maxLength: 20 }), { maxLength: 20 }), (reads) => {
      const unfinished = new UnfinishedFrames();
      const sent: string[] = [];
      for (const frames of reads) {
        const texts = frames.map((size, index) => String.fromCharCode(97 + (index % 26)).repeat(size));
        const read = Buffer.from(texts.join(""));
        let at = 0;
        for (const { length } of texts) {
          unfinished.push(read.subarray(at, at + length));
          at += length;
        }
        sent.push(...texts);
        unfinished.keep();
      }
      assert.equal(unfinished.count, sent.length);
      assert.equal(unfinished.bytes, sent.join("").length);
      assert.deepEqual(unfinished.take().map(String), sent);
      const table = unfinished.table();
      const range = (index: number) => [table.startOf(index), table.endOf(index)] as const;
      const fromTable = sent.map((_, index) => table.bufferOf(index).toString("latin1", ...range(index)));
      assert.equal(table.count, sent.length);
      assert.deepEqual(fromTable, sent);
    }),
    { numRuns: 200 },
  );
});

test("frames that wait are not objects: a million of one byte take less than 16 MB", () => {
  const unfinished = new UnfinishedFrames();
  const read = Buffer.alloc(20_000, "x");
  const before = liveBytes();
  for (let reads = 0; reads < 50; reads += 1) {
    for (let at = 0; at < read.length; at += 1) unfinished.push(read.subarray(at, at + 1));
    unfinished.keep();
  }
  const taken = liveBytes() - before;
  assert.ok(taken < 16_000_000, `${taken} bytes`);
  assert.equal(unfinished.count, 1_000_000);
  const table = unfinished.table();
  const withTable = liveBytes() - before;
  assert.ok(withTable < 32_000_000, `${withTable} bytes with the table`);
  assert.equal(table.count, 1_000_000);
});

function liveBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
