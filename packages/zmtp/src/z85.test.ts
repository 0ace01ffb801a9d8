// Z85 and CURVE keys, with the values of their specifications.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { curveKeyPair, curvePublicKey, readCurveKey } from "./curve-keys.js";
import { decodeZ85, encodeZ85 } from "./z85.js";

test("the example of 32/Z85", () => {
  const bytes = Buffer.from("864fd26fb559f75b", "hex");
  assert.equal(encodeZ85(bytes), "HelloWorld");
  assert.deepEqual(decodeZ85("HelloWorld"), bytes);
});

test("any bytes come back, and any text is Z85 or not, without an exception", () => {
  const groups = fc.uint8Array({ maxLength: 80 }).filter((bytes) => bytes.length % 4 === 0);
  fc.assert(fc.property(groups, (bytes) => decodeZ85(encodeZ85(bytes))?.equals(bytes) === true));
  const text = fc.string({ maxLength: 50 });
  fc.assert(
    fc.property(text, (any) => {
      const bytes = decodeZ85(any);
      if (bytes !== undefined) assert.equal(encodeZ85(bytes), any);
    }),
  );
});

test("what is not Z85: a wrong length, another character, a group above 32 bits", () => {
  assert.equal(decodeZ85("Hell"), undefined);
  assert.equal(decodeZ85("Hel o"), undefined);
  assert.equal(decodeZ85("#####"), undefined);
  assert.equal(decodeZ85("%nSc0")?.readUInt32BE(0), 0xffff_ffff);
  assert.equal(decodeZ85("%nSc1"), undefined);
  assert.throws(() => encodeZ85(Buffer.alloc(5)), /multiple of 4/);
});

// From the manual page zmq_curve(7).
const libzmqKeys = [
  ["D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs", "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"],
  ["JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6", "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"],
] as const;

test("a secret key gives its public key", () => {
  for (const [secret, expected] of libzmqKeys) assert.equal(curvePublicKey(secret), expected);
  const { publicKey, secretKey } = curveKeyPair();
  assert.equal(curvePublicKey(secretKey), publicKey);
  assert.equal(curvePublicKey(decodeZ85(secretKey) as Buffer), publicKey);
  assert.notEqual(curveKeyPair().secretKey, secretKey);
});

test("what is no key is refused without being quoted", () => {
  const wrong = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%c";
  assert.throws(
    () => readCurveKey(wrong, "the secret key"),
    (error: Error) =>
      /the secret key is not a CURVE key/.test(error.message) && !error.message.includes("D:)"),
  );
  assert.throws(() => readCurveKey(Buffer.alloc(31), "it"), /40 characters of Z85, or 32 bytes/);
});
