// What a request to have work done becomes for the yard.

import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { type Body, later, type Submission } from "@yardmaster/core";
import { given, type HttpContext } from "./context.js";
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
  const { priority, delay, timeout, expires, attempts, failures, key } = wishes;
  return {
    queue,
    payload,
    ...given({
      priority,
      delayMs: delay,
      attemptTimeoutMs: timeout,
      expiresAt: expires === undefined ? undefined : later(port.now().wall, expires),
      attempts,
      failures,
      key,
      fingerprint: key === undefined ? undefined : fingerprintOf(payload),
      envelope: traces?.envelopeOf(headers),
    }),
  };
}

/** Tells a request that was sent twice from a key that was used for something else. */
function fingerprintOf({ mediaType, bytes }: Body): string {
  return createHash("sha256")
    .update(`${mediaType}\n`)
    .update(bytes ?? "")
    .digest("base64url");
}
