// Turns a submit request into a submission for the core.

import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { type Body, later, type Submission } from "@yardmaster/core";
import type { Login } from "../access/principal.js";
import type { HttpContext } from "./context.js";
import type { SubmissionOptions } from "./parameters.js";

export interface SubmitRequest {
  readonly queue: string;
  readonly payload: Body;
  readonly options: SubmissionOptions;
  readonly headers: IncomingHttpHeaders;
  /** The client's address. */
  readonly ip: string | undefined;
  readonly login: Login;
}

export function submissionOf(
  { port, traces }: HttpContext,
  { queue, payload, options, headers, ip, login }: SubmitRequest,
): Submission {
  const { priority, attempts, failures, delay, timeout, expires, key, group } = options;
  const envelope = traces?.envelopeOf(headers);
  // Set field by field: this runs for every task, and most set no options.
  const submission: Writable<Submission> = { queue, payload, host: ip };
  if (priority !== undefined) submission.priority = priority;
  if (attempts !== undefined) submission.attempts = attempts;
  if (failures !== undefined) submission.failures = failures;
  if (delay !== undefined) submission.delayMs = delay;
  if (timeout !== undefined) submission.attemptTimeoutMs = timeout;
  if (expires !== undefined) submission.expiresAt = later(port.now().wall, expires);
  if (options.after !== undefined) submission.after = options.after;
  if (options.ifFailed !== undefined) submission.ifFailed = options.ifFailed;
  const { by } = login.principal;
  if (by !== undefined) submission.by = by;
  if (envelope !== undefined) submission.envelope = envelope;
  if (group !== undefined) submission.group = group;
  if (key !== undefined) {
    submission.key = key;
    submission.fingerprint = fingerprintOf(payload);
  }
  return submission;
}

export type Writable<Value> = { -readonly [Name in keyof Value]: Value[Name] };

/** Distinguishes a repeated request from a key that is reused for something else. */
function fingerprintOf({ mediaType, bytes }: Body): string {
  return createHash("sha256")
    .update(`${mediaType}\n`)
    .update(bytes ?? "")
    .digest("base64url");
}
