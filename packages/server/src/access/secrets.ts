// Secrets as digests. The configuration names a file, an environment variable or a SHA-256; only
// the digest is kept, and comparisons take the same time for every input.

import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { ConfigFault } from "../config/config-fault.js";
import type { SecretSettings } from "./settings.js";

export interface SecretSources {
  readonly env?: NodeJS.ProcessEnv;
  readonly readFile?: (path: string) => string;
}

/** What a secret must look like. A digest cannot be checked. */
export interface SecretForm {
  readonly pattern: RegExp;
  readonly expected: string;
}

/** Must fit an Authorization header unescaped and be hard to guess. */
export const tokenForm: SecretForm = {
  pattern: /^[\x21-\x7e]{16,1024}$/,
  expected: "16 to 1024 printable characters without spaces; yardmaster token new prints such a token",
};

/** PLAIN carries at most 255 bytes. */
export const passwordForm: SecretForm = {
  pattern: /^[^\r\n]{8,255}$/,
  expected: "8 to 255 characters",
};

export function sha256(secret: string | Uint8Array): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Throws a ConfigFault that names the place, never the secret. */
export function digestOf(
  secret: SecretSettings,
  where: string,
  form: SecretForm,
  { env = process.env, readFile = (path) => readFileSync(path, "utf8") }: SecretSources,
): Buffer {
  if (secret.sha256 !== undefined) return Buffer.from(secret.sha256, "hex");
  const { text, source } =
    secret.env === undefined
      ? { text: textIn(secret.file ?? "", where, readFile), source: `the file ${secret.file}` }
      : { text: env[secret.env], source: `the environment variable ${secret.env}` };
  if (text === undefined) throw new ConfigFault([`${where}: ${source} is not set`]);
  // An editor or `echo` ends the file with a line break.
  const plain = text.replace(/\r?\n$/, "");
  if (!form.pattern.test(plain))
    throw new ConfigFault([`${where}: ${source} does not hold ${form.expected}`]);
  return sha256(plain);
}

function textIn(path: string, where: string, readFile: (path: string) => string): string {
  try {
    return readFile(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new ConfigFault([`${where}: the file ${path} cannot be read (${code})`], { cause });
  }
}

/**
 * Finds values by the digest of a secret. Its index is keyed with a random number, so the time of a
 * lookup says nothing about the digests in it.
 */
export class DigestIndex<Value> {
  readonly #key = randomBytes(32);
  readonly #values = new Map<string, { readonly digest: Buffer; readonly value: Value }>();

  set(digest: Buffer, value: Value): void {
    this.#values.set(this.#place(digest), { digest, value });
  }

  get(digest: Buffer): Value | undefined {
    const found = this.#values.get(this.#place(digest));
    return found !== undefined && timingSafeEqual(found.digest, digest) ? found.value : undefined;
  }

  #place(digest: Buffer): string {
    return createHmac("sha256", this.#key).update(digest).digest("base64");
  }
}
