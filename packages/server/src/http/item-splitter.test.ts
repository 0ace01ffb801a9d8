import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Cut, ItemSplitter } from "./item-splitter.js";

/** The items that result when the bytes arrive in pieces of this size. */
function split(text: string, pieceBytes = Number.POSITIVE_INFINITY): string[] {
  const splitter = new ItemSplitter();
  const bytes = Buffer.from(text);
  const cuts: Cut[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    cuts.push(...splitter.push(bytes.subarray(at, Math.min(bytes.length, at + pieceBytes))));
    if (pieceBytes === Number.POSITIVE_INFINITY) break;
  }
  cuts.push(...splitter.end());
  return cuts.map((cut) => ("fault" in cut ? `${cut.line}! ${cut.fault}` : `${cut.line} ${cut.text.trim()}`));
}

test("lines and elements are cut, each with the line it begins on, however the bytes come", () => {
  const cases: [string, string[]][] = [
    ["", []],
    [" \n\n", []],
    ['{"a":1}\n{"b":2}', ['1 {"a":1}', '2 {"b":2}']],
    ['\r\n{"a":1}\r\n\r\n{"ü":"\\n"}\r\n', ['2 {"a":1}', '4 {"ü":"\\n"}']],
    ["oops\n{}", ["1 oops", "2 {}"]],
    ["[]", []],
    [" [ ] \n", []],
    ['[{"a":[1,2]},\n {"b":"],}\\""}\n,\n\n3]', ['1 {"a":[1,2]}', '2 {"b":"],}\\""}', "5 3"]],
    ["[1,,2]", ["1 1", "1! an element is missing between commas; the rest of the array is not read"]],
    ["[1,\n]", ["1 1", "2! an element is missing between commas; the rest of the array is not read"]],
    ["[1,\n2", ["1 1", "2! the array is not closed; what is left of it is not read"]],
    ["[1]\n x", ["1 1", "2! there is something after the array; the rest of the array is not read"]],
    ["[}", ["1! a } without its {; the rest of the array is not read"]],
  ];
  for (const [text, expected] of cases) {
    for (const pieceBytes of [Number.POSITIVE_INFINITY, 1, 2, 3, 7]) {
      assert.deepEqual(split(text, pieceBytes), expected, `${JSON.stringify(text)} by ${pieceBytes}`);
    }
  }
});

test("any values survive being an array or lines, in pieces of any size", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), fc.integer({ min: 1, max: 50 }), (values, pieceBytes) => {
      const json = values.map((value) => JSON.stringify(value));
      const array = split(JSON.stringify(values, null, 1), pieceBytes);
      assert.deepEqual(
        array.map((item) => JSON.parse(item.slice(item.indexOf(" ")))),
        JSON.parse(JSON.stringify(values)),
      );
      // A line that begins with a bracket is an array.
      if (json[0]?.startsWith("[")) return;
      assert.deepEqual(
        split(json.join("\n"), pieceBytes),
        json.map((text, index) => `${index + 1} ${text}`),
      );
    }),
  );
});

test("any bytes are items or a fault, and nothing is kept after it", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const splitter = new ItemSplitter();
      const cuts = [...splitter.push(Buffer.concat([Buffer.from("["), bytes])), ...splitter.end()];
      if (cuts.some((cut) => "fault" in cut && !cut.fault.startsWith("the array is not closed")))
        assert.equal(splitter.pendingBytes, 0);
    }),
  );
});
