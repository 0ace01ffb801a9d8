// A payload or a result: bytes and their media type.

import { ArgumentError } from "./errors.js";

export const bytesType = "application/octet-stream";
export const textType = "text/plain; charset=utf-8";
export const jsonType = "application/json";

/** A payload or a result: bytes with their media type. */
export class Body {
  readonly contentType: string;
  readonly bytes: Buffer;

  constructor(bytes: Uint8Array, contentType: string = bytesType) {
    this.bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.contentType = contentType;
  }

  text(): string {
    return this.bytes.toString("utf8");
  }

  /** Throws a SyntaxError if the bytes are not JSON. */
  json(): unknown {
    return JSON.parse(this.text());
  }

  get isJson(): boolean {
    return /^application\/(?:[\w.-]+\+)?json\b/i.test(this.contentType);
  }
}

/**
 * Accepted forms of a body: bytes and text are sent unchanged, undefined as an empty body, anything
 * else as JSON.
 */
export type Bodylike = Body | Uint8Array | string | undefined | null | boolean | number | object;

/** A value as a body: see `Bodylike`. Throws an `ArgumentError` for what cannot be sent. */
export function bodyOf(value: Bodylike): Body {
  if (value instanceof Body) return value;
  if (value instanceof Uint8Array) return new Body(value);
  if (typeof value === "string") return new Body(Buffer.from(value), textType);
  if (value === undefined) return new Body(Buffer.alloc(0));
  return jsonBodyOf(value);
}

/** A value as JSON; text becomes a JSON string. Throws an `ArgumentError` if JSON cannot say it. */
export function jsonBodyOf(value: unknown): Body {
  const refusal = `${typeof value} cannot be sent as a body`;
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (cause) {
    throw new ArgumentError("bad_argument", `${refusal}: ${(cause as Error).message}`, { cause });
  }
  if (json === undefined) throw new ArgumentError("bad_argument", refusal);
  return new Body(Buffer.from(json), jsonType);
}
