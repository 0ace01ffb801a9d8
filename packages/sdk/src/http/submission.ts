// How a submission is said in the http API.

import { isUtf8 } from "node:buffer";
import type { SubmitOptions } from "../client.js";
import { ArgumentError } from "../errors.js";
import { duration } from "./connection.js";

export function queuePart(queue: string | undefined): string {
  if (queue !== undefined) return encodeURIComponent(queue);
  throw new ArgumentError("bad_argument", "http has many queues: name one");
}

/** A submission's options as the API calls them. */
export function parametersOf(options: SubmitOptions) {
  const { priority, delayMs, timeoutMs, expiresMs, attempts, failures, key } = options;
  return {
    priority,
    delay: delayMs === undefined ? undefined : duration(delayMs),
    timeout: timeoutMs === undefined ? undefined : duration(timeoutMs),
    expires: expiresMs === undefined ? undefined : duration(expiresMs),
    attempts,
    failures,
    key,
  };
}

/** In a line of a batch: text as text, which is shorter and can be read on the way; anything else in base64. */
export function textOrBase64(name: string, bytes: Buffer): Readonly<Record<string, string>> {
  return isUtf8(bytes) ? { [name]: bytes.toString("utf8") } : { [`${name}Base64`]: bytes.toString("base64") };
}
