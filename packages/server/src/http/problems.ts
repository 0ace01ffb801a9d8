// Every error that the http door answers with, as RFC 9457 problem documents. Codes are part of the
// API: a code never changes its meaning or its status.

import type { RefusalCode } from "@yardmaster/core";
import { Unavailable } from "@yardmaster/engines";
import type { Logger } from "pino";

interface ProblemKind {
  readonly status: number;
  /** The general meaning of the code. */
  readonly title: string;
}

export const problemKinds = {
  bad_request: { status: 400, title: "The request is not understood" },
  dependency_cycle: { status: 400, title: "A task would depend on itself" },
  unauthorized: { status: 401, title: "The credential is missing or wrong" },
  forbidden: { status: 403, title: "A page of another origin may not do this" },
  no_right: { status: 403, title: "The principal does not have this right" },
  not_found: { status: 404, title: "There is no such thing" },
  method_not_allowed: { status: 405, title: "The path does not have this method" },
  request_timeout: { status: 408, title: "The request took too long to arrive" },
  wrong_state: { status: 409, title: "The task's state does not allow it" },
  key_conflict: { status: 409, title: "The key belongs to a task with another payload" },
  unknown_dependency: { status: 409, title: "A task that this one depends on is not known" },
  stale_attempt: { status: 409, title: "The attempt does not hold the task any more" },
  read_only: { status: 409, title: "It is defined in the configuration file" },
  payload_too_large: { status: 413, title: "The payload is too large" },
  queue_full: { status: 429, title: "A limit is reached; try again later" },
  quota_reached: { status: 429, title: "A quota of the principal is reached; try again later" },
  too_many_logins: { status: 429, title: "Too many failed logins from this address" },
  headers_too_large: { status: 431, title: "The request's headers are too large" },
  internal_error: { status: 500, title: "The dispatcher has an internal error" },
  not_ready: { status: 503, title: "The dispatcher is starting or stopping" },
  not_owner: { status: 503, title: "Another dispatcher owns the yard" },
} as const satisfies Readonly<Record<RefusalCode | string, ProblemKind>>;

export type ProblemCode = keyof typeof problemKinds;

// Every refusal code of the core must also be a problem code.
true satisfies RefusalCode extends ProblemCode ? true : false;

/** Codes that show a mistake of the peer, and not just a request at a bad time. */
export const faultCodes: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "bad_request",
  "unauthorized",
  "too_many_logins",
  "forbidden",
  "no_right",
  "request_timeout",
  "payload_too_large",
  "headers_too_large",
]);

export const problemMediaType = "application/problem+json";

interface ProblemOptions extends ErrorOptions {
  readonly retryMs?: number;
  readonly fields?: Readonly<Record<string, string | null>>;
}

/** The caller made a mistake or must wait. `message` becomes the document's detail. */
export class Problem extends Error {
  readonly code: ProblemCode;
  /** When to try again, in milliseconds, where it is known. */
  readonly retryMs: number | undefined;
  /** Further fields of the document. */
  readonly fields: Readonly<Record<string, string | null>> | undefined;

  constructor(code: ProblemCode, detail: string, options?: ProblemOptions) {
    super(detail, options);
    this.name = "Problem";
    this.code = code;
    this.retryMs = options?.retryMs;
    this.fields = options?.fields;
  }

  get status(): number {
    return problemKinds[this.code].status;
  }

  toJSON(): Record<string, string | number | null> {
    const { status, title } = problemKinds[this.code];
    return {
      type: `urn:yardmaster:problem:${this.code}`,
      title,
      status,
      detail: this.message,
      code: this.code,
      ...this.fields,
    };
  }
}

/** Fastify's own errors, in our words. */
const frameworkProblems: ReadonlyMap<string, [ProblemCode, string]> = new Map(
  Object.entries<[ProblemCode, string]>({
    FST_ERR_CTP_BODY_TOO_LARGE: ["payload_too_large", "the body is larger than this dispatcher takes"],
    FST_ERR_CTP_INVALID_MEDIA_TYPE: ["bad_request", "the Content-Type is not a media type"],
    FST_ERR_CTP_INVALID_CONTENT_LENGTH: ["bad_request", "the body is not as long as its Content-Length says"],
    FST_ERR_BAD_URL: ["bad_request", "the URL is not well formed"],
    FST_ERR_MAX_PARAM_LENGTH: ["bad_request", "a part of the URL is too long"],
  }),
);

/** Turns any error into a problem; an internal one is logged with its stack. */
export type ProblemOf = (error: unknown, url?: string) => Problem;

export function loggedProblems(log: Logger): ProblemOf {
  return (error, url) => {
    const problem = problemOf(error);
    if (problem.code === "internal_error") log.error({ err: error, url }, "a request failed");
    return problem;
  };
}

/**
 * Turns any error into a problem. An internal one keeps its cause for the log and shows no details.
 */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  // Not `not_owner`: the request may have been carried out, and must not be sent to another node.
  if (error instanceof Unavailable)
    return new Problem("not_ready", "the database does not answer", { cause: error });
  const {
    code = "",
    statusCode = 500,
    message,
  } = error as { code?: string; statusCode?: number; message?: string };
  const [own, detail] = frameworkProblems.get(code) ?? [];
  if (own && detail) return new Problem(own, detail, { cause: error });
  if (statusCode >= 400 && statusCode < 500) {
    return new Problem("bad_request", message ?? "the request is not understood", { cause: error });
  }
  return new Problem("internal_error", "an internal error; the dispatcher's log has details", {
    cause: error,
  });
}
