import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { linesOf } from "./lines.js";

async function* pieces(chunks: readonly Uint8Array[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

describe("lines of a stream", () => {
  test("are the same however the stream was cut", async () => {
    const byte = fc.constantFrom(10, 13, 97, 0xff);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 9 })), fc.array(byte), async (noise, bytes) => {
        const whole = Buffer.concat([...noise, Buffer.from(bytes)]);
        const cuts = [...noise, Uint8Array.from(bytes)];
        const source = linesOf(pieces(cuts), "test");
        const lines: string[] = [];
        for await (const line of source.lines) lines.push(line.toString("latin1"));
        const expected = whole.toString("latin1").split("\n");
        if (expected.at(-1) === "") expected.pop();
        assert.deepEqual(
          lines,
          expected.map((line) => line.replace(/\r$/, "")),
        );
        assert.equal(source.bytesRead(), whole.length);
      }),
    );
  });
});
