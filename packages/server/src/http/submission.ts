// What a request to have work done becomes for the yard.

import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { type Body, later, type Submission } from "@yardmaster/core";
import type { HttpContext } from "./context.js";
import type { Wishes } from "./parameters.js";

export interface Asked {
  readonly queue: string;
  readonly payload: Body;
  readonly wishes: Wishes;
  readonly headers: IncomingHttpHeaders;
}

export function submissionOf(
  { port, traces }: HttpContext,
  { queue, payload, wishes, headers }: Asked,
): Submission {
  const { priority, attempts, failures, delay, timeout, expires, key } = wishes;
  const envelope = traces?.envelopeOf(headers);
  // Field by field: this is done for every task, and most ask for nothing.
  const submission: Writable<Submission> = { queue, payload };
  if (priority !== undefined) submission.priority = priority;
  if (attempts !== undefined) submission.attempts = attempts;
  if (failures !== undefined) submission.failures = failures;
  if (delay !== undefined) submission.delayMs = delay;
  if (timeout !== undefined) submission.attemptTimeoutMs = timeout;
  if (expires !== undefined) submission.expiresAt = later(port.now().wall, expires);
  if (envelope !== undefined) submission.envelope = envelope;
  if (key !== undefined) {
    submission.key = key;
    submission.fingerprint = fingerprintOf(payload);
  }
  return submission;
}

type Writable<Value> = { -readonly [Name in keyof Value]: Value[Name] };

/** Tells a request that was sent twice from a key that was used for something else. */
function fingerprintOf({ mediaType, bytes }: Body): string {
  return createHash("sha256")
    .update(`${mediaType}\n`)
    .update(bytes ?? "")
    .digest("base64url");
}
