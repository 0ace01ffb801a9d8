// Lines on file descriptor 3, as a program may write them.

import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { readReport, reportLines } from "./report-lines.js";

test("a line is a number, a number and a message, JSON, or a message", () => {
  assert.deepEqual(readReport("0.4"), { value: 0.4 });
  assert.deepEqual(readReport(" .5 frame 12 \r"), { value: 0.5, message: "frame 12" });
  assert.deepEqual(readReport("40% of it"), { value: 0.4, message: "of it" });
  assert.deepEqual(readReport('{"progress":0.1,"message":"x"}'), { value: 0.1, message: "x" });
  assert.deepEqual(readReport('{"step":3}'), { value: { step: 3 } });
  assert.deepEqual(readReport("[1,2]"), { value: [1, 2] });
  assert.deepEqual(readReport("encoding"), { message: "encoding" });
});

test("lines may come in pieces; a message alone keeps the last value; lines that are too long are dropped", async () => {
  const stream = new PassThrough();
  const reported: unknown[] = [];
  const bad: string[] = [];
  reportLines(stream, { progress: (value, message) => reported.push([value, message]) }, (words) =>
    bad.push(words),
  );
  stream.write("0.");
  stream.write("2\nhalf of the first\n\n");
  stream.write(`"${"x".repeat(10_000)}`);
  stream.write('more"\n0.9');
  stream.end();
  await new Promise((resolve) => stream.on("close", resolve));
  assert.deepEqual(reported, [
    [0.2, undefined],
    [0.2, "half of the first"],
    [0.9, undefined],
  ]);
  assert.deepEqual(bad, ["a line of over 8192 characters on file descriptor 3"]);
});
