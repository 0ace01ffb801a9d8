// How a submission is said in the http API.

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
