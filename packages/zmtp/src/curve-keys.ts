// CURVE's long-term keys: X25519 keys of 32 bytes, as text in Z85.

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { decodeZ85, encodeZ85 } from "./z85.js";

const keyBytes = 32;
/** What precedes the 32 bytes in PKCS #8's form of an X25519 key [RFC 8410]. */
const secretHead = Buffer.from("302e020100300506032b656e04220420", "hex");

/** A key as 40 characters of Z85 or as 32 bytes. */
export type CurveKey = string | Uint8Array;

export interface CurveKeyPair {
  /** Z85. Others may know it. */
  readonly publicKey: string;
  /** Z85. Only its owner may know it. */
  readonly secretKey: string;
}

export function curveKeyPair(): CurveKeyPair {
  const { privateKey } = generateKeyPairSync("x25519");
  const { d } = privateKey.export({ format: "jwk" });
  const secret = Buffer.from(d as string, "base64url");
  const pair = { publicKey: encodeZ85(publicBytes(privateKey)), secretKey: encodeZ85(secret) };
  secret.fill(0);
  return pair;
}

/** The public key that belongs to a secret one, in Z85. */
export function curvePublicKey(secretKey: CurveKey): string {
  const secret = readCurveKey(secretKey, "the secret key");
  const encoded = Buffer.concat([secretHead, secret]);
  const publicKey = publicBytes(createPrivateKey({ key: encoded, format: "der", type: "pkcs8" }));
  encoded.fill(0);
  secret.fill(0);
  return encodeZ85(publicKey);
}

/** A copy of the key's bytes. Throws if it is no key; the message does not quote it. */
export function readCurveKey(key: CurveKey, name: string): Buffer {
  const bytes = typeof key === "string" ? decodeZ85(key) : Buffer.from(key);
  if (bytes?.length === keyBytes) return bytes;
  throw new TypeError(`${name} is not a CURVE key: expected 40 characters of Z85, or 32 bytes`);
}

function publicBytes(privateKey: KeyObject): Buffer {
  const { x } = createPublicKey(privateKey).export({ format: "jwk" });
  return Buffer.from(x as string, "base64url");
}
