import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyForms, hexRows, treeOf } from "./body-forms.js";
import { readMessagePack } from "./msgpack.js";

const body = (text: string, contentType: string, isWhole = true) => ({
  bytes: new TextEncoder().encode(text),
  contentType,
  isWhole,
});

test("a body's media type decides how it is shown, and markup is shown as text", () => {
  assert.deepEqual(bodyForms(body('{"a":1}', "application/json; charset=utf-8")), ["tree", "text", "hex"]);
  assert.deepEqual(bodyForms(body("<script>alert(1)</script>", "text/html")), ["text", "hex"]);
  assert.deepEqual(bodyForms(body("<svg onload='x()'/>", "image/svg+xml")), ["text", "hex"]);
  assert.deepEqual(
    bodyForms({ bytes: Uint8Array.of(0x89, 0x50, 0xff), contentType: "image/png", isWhole: true }),
    ["image", "hex"],
  );
  assert.deepEqual(bodyForms(body('{"a":', "application/json", false)), ["text", "hex"]);
  assert.deepEqual(treeOf(body("null", "application/json")), { value: null });
});

test("MessagePack is read, and lies about lengths are faults", () => {
  assert.deepEqual(readMessagePack(Uint8Array.of(0x93, 1, 0xff, 0xa1, 0x61)), [1, -1, "a"]);
  assert.deepEqual(readMessagePack(Uint8Array.of(0x81, 0xa1, 0x6b, 0xcd, 1, 0)), new Map([["k", 256]]));
  for (const bytes of [[0xdd, 0xff, 0xff, 0xff, 0xff], [0xdb, 0xff, 0xff, 0xff, 0xff], [0xc1], [1, 1], []]) {
    assert.throws(() => readMessagePack(Uint8Array.from(bytes)));
  }
  assert.throws(() => readMessagePack(new Uint8Array(100_000).fill(0x91)), /deep/);
});

test("hex has rows of sixteen", () => {
  assert.deepEqual(
    hexRows(new TextEncoder().encode("0123456789abcdef\n")).map(({ at, text }) => [at, text]),
    [
      ["00000000", "0123456789abcdef"],
      ["00000010", "."],
    ],
  );
});
