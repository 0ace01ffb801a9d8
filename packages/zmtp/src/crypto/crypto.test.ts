// The boxes against NaCl's published values and against Node's own X25519, and the cipher of
// traffic against libsodium's secretbox.

import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, diffieHellman } from "node:crypto";
import { before, test } from "node:test";
import fc from "fast-check";
import { curveKeyPair, readCurveKey } from "../curve-keys.js";
import { MessageCipher } from "./message-cipher.js";
import { loadNacl, type Nacl } from "./nacl.js";

let nacl: Nacl;
before(async () => {
  nacl = await loadNacl();
});

const hex = (...parts: string[]) => Buffer.from(parts.join(""), "hex");
// "Cryptography in NaCl", sections 8 to 10: the key, a nonce, a message and its box.
const firstKey = hex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389");
const nonce = hex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37");
const clear = hex(
  "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c6129",
  "6cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde",
  "048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705",
);
const box = hex(
  "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186a",
  "c0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae",
  "90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74",
  "e355a5",
);

test("NaCl's example: the box, both ways, and the cipher of traffic", () => {
  assert.deepEqual(nacl.seal(firstKey, nonce, clear), box);
  assert.deepEqual(nacl.open(firstKey, nonce, box), clear);
  const target = Buffer.concat([nonce.subarray(16), Buffer.alloc(box.length)]);
  const cipher = new MessageCipher(nacl.sodium, firstKey, nonce.subarray(0, 16));
  cipher.seal(clear[0] as number, clear.subarray(1), target, 8);
  assert.deepEqual(target.subarray(8), box);
  assert.equal(cipher.open(target, 8), true);
  assert.deepEqual(target.subarray(24), clear);
});

test("keys are those of Node's X25519, and both ends get the same box key", () => {
  const der = Buffer.from("302e020100300506032b656e04220420", "hex");
  for (let i = 0; i < 5; i++) {
    const [ours, theirs] = [curveKeyPair(), curveKeyPair()];
    const secret = readCurveKey(ours.secretKey, "ours");
    const publicKey = readCurveKey(theirs.publicKey, "theirs");
    assert.deepEqual(nacl.publicKeyOf(secret), readCurveKey(ours.publicKey, "ours"));
    const key = nacl.sharedKey(publicKey, secret) as Buffer;
    const other = nacl.sharedKey(nacl.publicKeyOf(secret), readCurveKey(theirs.secretKey, "theirs"));
    assert.deepEqual(key, other);
    const node = (bytes: Buffer) =>
      createPrivateKey({ key: Buffer.concat([der, bytes]), format: "der", type: "pkcs8" });
    const shared = diffieHellman({
      privateKey: node(secret),
      publicKey: createPublicKey(node(readCurveKey(theirs.secretKey, "theirs"))),
    });
    assert.deepEqual(key, hashed(shared));
  }
});

/** NaCl's box key is HSalsa20 of the X25519 secret. */
function hashed(shared: Buffer): Buffer {
  const { sodium } = nacl;
  const at = sodium._malloc(80);
  sodium.HEAPU8.fill(0, at, at + 80);
  sodium.HEAPU8.set(shared, at);
  sodium._crypto_core_hsalsa20(at + 48, at + 32, at, 0);
  const key = Buffer.from(sodium.HEAPU8.subarray(at + 48, at + 80));
  sodium._free(at);
  return key;
}

test("a public key that gives the same key to everyone is refused", () => {
  const secret = readCurveKey(curveKeyPair().secretKey, "it");
  assert.equal(nacl.sharedKey(Buffer.alloc(32), secret), undefined);
  assert.equal(nacl.sharedKey(Buffer.from([1, ...Array(31).fill(0)]), secret), undefined);
});

// Sizes around one piece, and around two, of those in which bytes pass through the module.
const sizes = [0, 1, 31, 32, 33, 63, 64, 95, 96, 97, 255, 256, 1_000, 65_502, 65_503, 65_504, 65_505].concat([
  65_536, 131_038, 131_039, 131_040, 200_000,
]);

test("traffic of every size is what secretbox makes of it, and opens", () => {
  for (const size of sizes) {
    const body = Buffer.alloc(size);
    for (let i = 0; i < size; i++) body[i] = (i * 7 + size) & 255;
    const cipher = new MessageCipher(nacl.sodium, firstKey, nonce.subarray(0, 16));
    const target = Buffer.concat([Buffer.from("before"), nonce.subarray(16), Buffer.alloc(17 + size)]);
    cipher.seal(2, body, target, 14);
    const expected = nacl.seal(firstKey, nonce, Buffer.concat([Buffer.of(2), body]));
    assert.ok(target.subarray(14).equals(expected), `${size} bytes`);
    const inPlace = Buffer.concat([nonce.subarray(16), Buffer.alloc(17), body]);
    cipher.seal(2, inPlace.subarray(25), inPlace, 8);
    assert.ok(inPlace.subarray(8).equals(expected), `${size} bytes in place`);
    assert.equal(cipher.open(target, 14), true);
    assert.ok(target.subarray(31).equals(body), `${size} bytes opened`);
    assert.equal(target[30], 2);
    assert.equal(target.toString("latin1", 0, 6), "before");
  }
});

test("one changed bit anywhere, or a byte less, and nothing opens", () => {
  const cipher = new MessageCipher(nacl.sodium, firstKey, nonce.subarray(0, 16));
  const anySize = fc.oneof(fc.nat({ max: 300 }), fc.constantFrom(65_503, 65_504, 140_000));
  fc.assert(
    fc.property(anySize, fc.nat(), fc.nat({ max: 7 }), (size, place, bit) => {
      const sealed = Buffer.concat([nonce.subarray(16), Buffer.alloc(17 + size)]);
      cipher.seal(0, Buffer.alloc(size, "x"), sealed, 8);
      const changed = Buffer.from(sealed);
      changed[place % changed.length] = (changed[place % changed.length] as number) ^ (1 << bit);
      assert.equal(cipher.open(changed, 8), false);
      assert.equal(changed.includes("xxxxxxxx"), false);
      assert.equal(cipher.open(Buffer.from(sealed.subarray(0, -1)), 8), false);
      assert.equal(cipher.open(sealed, 8), true);
    }),
    { numRuns: 60 },
  );
  assert.equal(cipher.open(Buffer.alloc(20), 8), false);
});

test("after a wipe the key is gone", () => {
  const cipher = new MessageCipher(nacl.sodium, firstKey, nonce.subarray(0, 16));
  const sealed = Buffer.concat([nonce.subarray(16), Buffer.alloc(18)]);
  cipher.seal(0, Buffer.of(1), sealed, 8);
  cipher.wipe();
  assert.equal(cipher.open(sealed, 8), false);
});

test("large texts do not grow the module's memory", () => {
  const cipher = new MessageCipher(nacl.sodium, firstKey, nonce.subarray(0, 16));
  const sealed = Buffer.concat([nonce.subarray(16), Buffer.alloc(17 + 20_000_000)]);
  cipher.seal(0, Buffer.alloc(20_000_000), sealed, 8);
  assert.equal(cipher.open(sealed, 8), true);
  assert.ok(nacl.sodium.HEAPU8.length < 8_000_000);
});
