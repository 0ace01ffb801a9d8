import assert from "node:assert/strict";
import { test } from "node:test";
import type { Body } from "@yardmaster/core";
import fc from "fast-check";
import { pack } from "msgpackr";
import { bodyOf, bytesMediaType, bytesOf } from "./body.js";
import { bodyOfParts, partsMax, partsMediaType, partsOf } from "./parts.js";

const asParts = (bytes: Buffer): Body => ({ mediaType: partsMediaType, size: bytes.length, bytes });
const part = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));

test("parts come back as they were", () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
      assert.deepEqual(partsOf(bodyOfParts(parts)), parts);
    }),
    { numRuns: 500 },
  );
  const large = [Buffer.alloc(70_000, 1), Buffer.alloc(300, 2), Buffer.alloc(0)];
  assert.deepEqual(partsOf(bodyOfParts(large)), large);
  const many = Array.from({ length: partsMax }, (_, index) => Buffer.from(String(index)));
  assert.deepEqual(partsOf(bodyOfParts(many)), many);
});

test("one part is a body of plain bytes, others are MessagePack", () => {
  const one = bodyOfParts([Buffer.from("a")]);
  assert.deepEqual([one.mediaType, one.size, String(bytesOf(one))], [bytesMediaType, 1, "a"]);
  const two = bodyOfParts([Buffer.from("a"), Buffer.alloc(0)]);
  assert.deepEqual([two.mediaType, bytesOf(two).toString("hex")], [partsMediaType, "92c40161c400"]);
});

test("an array that somebody else's MessagePack wrote is read", () => {
  const parts = [Buffer.from("a"), Buffer.alloc(256, 7), Buffer.alloc(65_536, 8)];
  assert.deepEqual(partsOf(asParts(pack(parts))), parts);
  assert.deepEqual(partsOf(asParts(Buffer.from("dd00000001c40161", "hex"))), [Buffer.from("a")]);
});

test("the same bytes under another media type are one part", () => {
  const bytes = bytesOf(bodyOfParts([Buffer.from("a"), Buffer.from("b")]));
  assert.deepEqual(partsOf(bodyOf(bytes, "application/msgpack")), [bytes]);
  assert.deepEqual(partsOf(undefined), [Buffer.alloc(0)]);
});

test("a body that is not an array of bin is one part, and takes no more memory than its bytes", () => {
  const bombs: Record<string, Buffer> = {
    "an array of four billion": Buffer.from("ddffffffff", "hex"),
    "a bin of four gigabytes": Buffer.from("91c6ffffffff00", "hex"),
    "arrays in arrays": Buffer.alloc(1_000_000, 0x91),
    "a million empty parts": Buffer.concat([
      Buffer.from("dd000f4240", "hex"),
      Buffer.alloc(2_000_000, Buffer.from("c400", "hex")),
    ]),
    "one part more than there may be": pack(Array.from({ length: partsMax + 1 }, () => Buffer.alloc(1))),
    "a string": Buffer.from("91a161", "hex"),
    "a map": Buffer.from("81a161c40161", "hex"),
    "half a bin": Buffer.from("91c4ff61", "hex"),
    "half a length": Buffer.from("91c500", "hex"),
    "bytes behind": Buffer.from("91c4016100", "hex"),
    nothing: Buffer.alloc(0),
  };
  for (const [what, bytes] of Object.entries(bombs)) {
    const parts = partsOf(asParts(bytes));
    assert.ok(parts.length === 1 && parts[0]?.equals(bytes), what);
  }
  fc.assert(fc.property(part, (bytes) => partsOf(asParts(bytes)).length <= bytes.length + 1));
});

test("a body keeps no read buffer alive", () => {
  const read = Buffer.alloc(65_536, 1);
  const body = bodyOf(read.subarray(10, 20));
  assert.notEqual(body.bytes?.buffer, read.buffer);
  const whole = Buffer.from(read);
  assert.equal(bodyOf(whole).bytes, whole);
});
