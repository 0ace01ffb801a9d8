// Sizes and nonces of CURVE's handshake [26/CURVEZMQ]. Sizes are those of a command's data, after
// its name.

import { keyBytes, tagBytes } from "../crypto/nacl.js";

const versionBytes = 2;
const paddingBytes = 72;
export const shortNonceBytes = 8;
export const longNonceBytes = 16;
const signatureBoxBytes = 64 + tagBytes;
/** Version, padding that makes it longer than the answer, C', a nonce, a box of 64 zeros. */
export const helloBytes = versionBytes + paddingBytes + keyBytes + shortNonceBytes + signatureBoxBytes;
/** Where HELLO has C'. */
export const helloKeyAt = versionBytes + paddingBytes;
/** A nonce, and a box of C' and s'. */
export const cookieBytes = longNonceBytes + 2 * keyBytes + tagBytes;
export const welcomeBytes = longNonceBytes + keyBytes + cookieBytes + tagBytes;
/** C' and S in a box. */
const vouchBoxBytes = 2 * keyBytes + tagBytes;
/** C and its vouch, which precede the metadata in INITIATE's box. */
export const vouchedBytes = keyBytes + longNonceBytes + vouchBoxBytes;
export const initiateBytesMin = cookieBytes + shortNonceBytes + vouchedBytes + tagBytes;
export const readyBytesMin = shortNonceBytes + tagBytes;

/** A nonce of 24 bytes: a text that names the command, then the bytes that are sent with it. */
export function boxNonce(name: string, sent: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(name, "latin1"), sent]);
}

export function shortNonce(number: number): Buffer {
  const bytes = Buffer.alloc(shortNonceBytes);
  bytes.writeUInt32BE(number, 4);
  return bytes;
}
