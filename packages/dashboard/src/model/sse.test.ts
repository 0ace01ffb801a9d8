import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser } from "./sse.js";

const text = `: hello\n\nid: s-1\nevent: snapshot\ndata: {"a":1}\n\nevent: queue\r\ndata: one\r\ndata: two\r\n\r\ndata:bare\n\nevent: empty\n\n`;
const expected = [
  { event: "snapshot", data: '{"a":1}', id: "s-1" },
  { event: "queue", data: "one\ntwo", id: "s-1" },
  { event: "message", data: "bare", id: "s-1" },
];

test("events are the same whole and character by character", () => {
  assert.deepEqual(new EventParser().push(text), expected);
  const parser = new EventParser();
  assert.deepEqual(
    [...text].flatMap((character) => parser.push(character)),
    expected,
  );
});
