// Conventions for object bytes that both ends share: ids, functions by name, failures.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readFunctionObject, writeFunctionObject } from "./function-object.js";
import { documentSerializerId, serializerObjectId } from "./ids.js";
import { exceptionText, pickledException } from "./pickle.js";

test("a serializer's ids, as captured and as the document has it", () => {
  const source = Buffer.from("123|Client|00112233445566778899aabbccddeeff");
  assert.equal(
    serializerObjectId(source).toString("hex"),
    "4138d4f4812246d984f6fb7cd5cd53b5679489a29396448f",
  );
  assert.equal(documentSerializerId(source).length, 16);
});

test("a function by its name, and what names none", () => {
  const named = (text: string | Buffer) => readFunctionObject(Buffer.from(text));
  assert.deepEqual(named("add"), { name: "add" });
  assert.deepEqual(named('{"function": "add"}'), { name: "add" });
  assert.deepEqual(named('{"function": "add", "serializer": "msgpack"}'), {
    name: "add",
    serializer: "msgpack",
  });
  for (const wrong of ["", "{", "{}", '{"function": 1}', '{"function": ""}', "x".repeat(4_097)]) {
    assert.equal(named(wrong), undefined, wrong);
  }
  assert.equal(named(Buffer.from("80054b312e", "hex")), undefined, "a pickle");
});

test("a function's name is read back as it was written", () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, unit: "grapheme" }),
      fc.option(fc.string(), { nil: undefined }),
      (name, serializer) => {
        const object = serializer === undefined ? { name } : { name, serializer };
        assert.deepEqual(readFunctionObject(writeFunctionObject(object)), object);
      },
    ),
  );
});

test("any bytes are a function object or none", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      readFunctionObject(Buffer.from(bytes));
      exceptionText(Buffer.from(bytes));
    }),
  );
});

test("an exception's text comes back, and nothing else is taken for one", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.nat(), (text, at) => {
      const object = pickledException(text);
      assert.equal(exceptionText(object), text);
      const cut = object.subarray(0, at % object.length);
      assert.equal(exceptionText(cut), undefined);
      assert.equal(exceptionText(Buffer.concat([object, Buffer.from(".")])), undefined);
    }),
  );
});
