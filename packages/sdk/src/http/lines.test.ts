import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LineSplitter } from "./lines.js";

test("lines are the same however the stream was cut, and a line without an end is left out", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("", "a", "€", "{}", "long ".repeat(5))),
      fc.constantFrom("", "cut"),
      fc.infiniteStream(fc.integer({ min: 1, max: 7 })),
      (lines, rest, sizes) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join("") + rest);
        const splitter = new LineSplitter();
        const found: string[] = [];
        for (let at = 0; at < bytes.length; ) {
          const size = sizes.next().value;
          found.push(...splitter.push(bytes.subarray(at, at + size)));
          at += size;
        }
        assert.deepEqual(found, lines);
      },
    ),
  );
});
