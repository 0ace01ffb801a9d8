// Key files: what is written is read again, and a file of another kind is refused without quoting
// it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { curveCertificate, publicKeyIn, secretKeyIn } from "./curve-certificate.js";
import { curveKeyPair } from "./curve-keys.js";

const pair = curveKeyPair();

test("a key file is read again, with or without the secret key, and so is a bare key", () => {
  const secret = curveCertificate(pair);
  assert.deepEqual([publicKeyIn(secret), secretKeyIn(secret)], [pair.publicKey, pair.secretKey]);
  const open = curveCertificate({ publicKey: pair.publicKey });
  assert.equal(publicKeyIn(open), pair.publicKey);
  assert.ok(!open.includes(pair.secretKey));
  assert.equal(publicKeyIn(curveCertificate({ secretKey: pair.secretKey })), pair.publicKey);
  assert.equal(secretKeyIn(`${pair.secretKey}\n`), pair.secretKey);
});

test("a file without the key is refused, and not quoted", () => {
  const quoted = (error: Error) => !error.message.includes("hunter2") && error instanceof TypeError;
  for (const text of [
    "",
    "hunter2",
    curveCertificate({ publicKey: pair.publicKey }),
    'secret-key = "hunter2"',
  ]) {
    assert.throws(() => secretKeyIn(text), quoted);
  }
  assert.throws(() => publicKeyIn("metadata\ncurve\n"), TypeError);
  assert.throws(() => publicKeyIn('public-key = "hunter2"'), quoted);
});
