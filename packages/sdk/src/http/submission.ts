// Encodes submissions for the http API.

import { isUtf8 } from "node:buffer";
import { type Bodylike, bodyOf } from "../body.js";
import type { SubmitOptions } from "../client.js";
import { ArgumentError } from "../errors.js";
import { checkTimes, refuseUnknownOptions } from "../options.js";
import { duration } from "./connection.js";

export function queuePart(queue: string | undefined): string {
  if (queue !== undefined) return encodeURIComponent(queue);
  throw new ArgumentError("bad_argument", "http has many queues: name one");
}

const optionNames: readonly (keyof SubmitOptions)[] = [
  "queue",
  "contentType",
  "priority",
  "delayMs",
  "timeoutMs",
  "expiresMs",
  "attempts",
  "failures",
  "key",
  "after",
  "ifFailed",
  "group",
];

/** Throws an ArgumentError for senseless values. The dispatcher checks the others. */
export function checkOptions(options: SubmitOptions): void {
  refuseUnknownOptions("a submission", options, optionNames);
  const { delayMs, timeoutMs, expiresMs } = options;
  checkTimes({ delayMs, timeoutMs, expiresMs });
  if (options.after !== undefined && !Array.isArray(options.after))
    throw new ArgumentError("bad_argument", "after: expected a list of ids");
}

/** A submission's options under their API names. */
export function parametersOf(options: SubmitOptions) {
  const { priority, delayMs, timeoutMs, expiresMs, attempts, failures, key, group, ifFailed } = options;
  return {
    priority,
    delay: delayMs === undefined ? undefined : duration(delayMs),
    timeout: timeoutMs === undefined ? undefined : duration(timeoutMs),
    expires: expiresMs === undefined ? undefined : duration(expiresMs),
    attempts,
    failures,
    key,
    group,
    ifFailed,
  };
}

/** A line of a batch or of a graph. */
export function itemOf(payload: Bodylike, options: SubmitOptions) {
  const { bytes, contentType } = bodyOf(payload);
  return {
    ...textOrBase64("payload", bytes),
    contentType: options.contentType ?? contentType,
    ...parametersOf(options),
    ...(options.after !== undefined && { after: options.after }),
  };
}

/**
 * For a line of a batch: text stays text, which is shorter and readable; anything else becomes
 * base64.
 */
export function textOrBase64(name: string, bytes: Buffer): Readonly<Record<string, string>> {
  return isUtf8(bytes) ? { [name]: bytes.toString("utf8") } : { [`${name}Base64`]: bytes.toString("base64") };
}

/** Requests only the ids. A dispatcher that does not know this answers with whole tasks. */
export const minimal: Readonly<Record<string, string>> = { Prefer: "return=minimal" };
