import assert from "node:assert/strict";
import { test } from "node:test";
import { frameFields, jsonFields, shownFrame } from "./wire-fields.js";

test("each field of a JSON object lies where its bytes are, one level deep", () => {
  const bytes = Buffer.from(
    '{ "method": "add_task", "params" : {"task_id":7,"n":{"deep":[1,"}"]}}, "q\\"": null }',
  );
  const fields = jsonFields(bytes);
  assert.deepEqual(
    fields.map(({ name, at, bytes: length }) => [name, bytes.toString("utf8", at, at + length)]),
    [
      ["method", '"add_task"'],
      ["params.task_id", "7"],
      ["params.n", '{"deep":[1,"}"]}'],
      ['q\\"', "null"],
    ],
  );
  assert.equal(fields[0]?.value, '"add_task"');
});

test("bytes that are no JSON object have the fields found so far, and nothing throws", () => {
  for (const text of ["", "{", "[1]", "nothing", '{"a":1', '{"a":"', '{"a":{"b":', '{"a" 1}', "{}}", '{"\\'])
    assert.ok(Array.isArray(jsonFields(Buffer.from(text))), text);
  assert.deepEqual(jsonFields(Buffer.from("{}")), []);
  for (let n = 0; n < 2_000; n += 1) {
    const bytes = Buffer.from(
      Array.from({ length: 12 }, (_, i) => '{}[]",:\\a1 \n'.charCodeAt((n * 7 + i * (n % 5)) % 12)),
    );
    for (const { at, bytes: length } of jsonFields(bytes)) assert.ok(at + length <= bytes.length);
  }
});

test("frames lie end to end, and text is shown where it is text", () => {
  const frames = [Buffer.from(""), Buffer.from("TR"), Buffer.from([0, 1, 2])];
  assert.deepEqual(
    frameFields(frames, (index) => `f${index}`),
    [
      { name: "f0", at: 0, bytes: 0, value: null },
      { name: "f1", at: 0, bytes: 2, value: "TR" },
      { name: "f2", at: 2, bytes: 3, value: null },
    ],
  );
});

test("a frame is shown as text, or with its length in hex", () => {
  const shown = (bytes: string | readonly number[], max = 64) => shownFrame(Buffer.from(bytes), max);
  assert.equal(shown(""), "");
  assert.equal(shown('{"name": "Jürgen"}\n'), '{"name": "Jürgen"}\n');
  assert.equal(shown("aüb", 2), "a…");
  assert.equal(shown([0]), "1 byte: 00");
  assert.equal(shown([0x93, 0xa1, 0x41, 0xff]), "4 bytes: 93 a1 41 ff");
  assert.equal(shown([1, 2, 3, 4], 3), "4 bytes: 01 02 03 …");
  assert.equal(shown("\u001b[31m"), "5 bytes: 1b 5b 33 31 6d");
});
