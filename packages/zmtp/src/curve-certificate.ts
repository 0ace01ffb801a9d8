// CURVE's keys in files, as czmq and pyzmq (`zmq.auth`) read and write them: a ZPL file with the
// section "curve" [4/ZPL]. A file with nothing but the 40 characters of a key is read too.

import { type CurveKeyPair, curvePublicKey, readCurveKey } from "./curve-keys.js";

/** The text of a key file. Without the secret key, it may be given to others. */
export function curveCertificate({ publicKey, secretKey }: Partial<CurveKeyPair>): string {
  const lines = ["# A CURVE key of ZeroMQ.", "metadata", "curve"];
  if (publicKey !== undefined) lines.push(`    public-key = "${publicKey}"`);
  if (secretKey !== undefined) {
    lines[0] = "# A secret CURVE key of ZeroMQ. Do not give it away.";
    lines.push(`    secret-key = "${secretKey}"`);
  }
  return `${lines.join("\n")}\n`;
}

/** The secret key in a file's text. Throws if there is none; the message does not quote it. */
export function secretKeyIn(text: string): string {
  return checked(entryIn(text, "secret-key") ?? bareIn(text), "secret");
}

/** The public key in a file's text. That of a secret key file is derived if it is left out. */
export function publicKeyIn(text: string): string {
  const written = entryIn(text, "public-key") ?? bareIn(text);
  const secret = written === undefined ? entryIn(text, "secret-key") : undefined;
  return secret === undefined ? checked(written, "public") : curvePublicKey(checked(secret, "secret"));
}

function entryIn(text: string, name: string): string | undefined {
  return new RegExp(`^\\s*${name}\\s*=\\s*"(.*)"\\s*$`, "m").exec(text)?.[1];
}

function bareIn(text: string): string | undefined {
  const trimmed = text.trim();
  return /^\S{40}$/.test(trimmed) ? trimmed : undefined;
}

function checked(key: string | undefined, which: "secret" | "public"): string {
  if (key === undefined)
    throw new TypeError(`no ${which} CURVE key in it: expected a line ${which}-key = "…"`);
  readCurveKey(key, `the ${which} key`).fill(0);
  return key;
}
