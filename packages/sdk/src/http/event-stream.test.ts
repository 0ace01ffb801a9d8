import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { EventStreamParser, type RawEvent } from "./event-stream.js";

function parsed(pieces: readonly string[]): RawEvent[] {
  const parser = new EventStreamParser();
  return pieces.flatMap((piece) => parser.push(piece));
}

describe("a stream of events", () => {
  test("is read as the standard has it", () => {
    const text =
      ':\n\nid: 7\nevent: task\ndata: {"a":\ndata: 1}\n\ndata:no space\r\n\r\nid\nfoo: bar\ndata\n\nevent: lost\n\ndata: cut';
    assert.deepEqual(parsed([text]), [
      { id: "7", type: "task", data: '{"a":\n1}' },
      { id: "7", type: "message", data: "no space" },
      { id: "", type: "message", data: "" },
    ]);
  });

  test("is the same however it was cut", () => {
    const line = fc.constantFrom("id: 1", "data: x", "data", "event: e", ":c", "", "data:  two");
    fc.assert(
      fc.property(
        fc.array(line),
        fc.constantFrom("\n", "\r\n"),
        fc.infiniteStream(fc.integer({ min: 1, max: 5 })),
        (lines, end, sizes) => {
          const text = lines.map((one) => one + end).join("");
          const pieces: string[] = [];
          for (let at = 0; at < text.length; ) {
            const size = sizes.next().value;
            pieces.push(text.slice(at, at + size));
            at += size;
          }
          assert.deepEqual(parsed(pieces), parsed([text]));
        },
      ),
    );
  });
});
