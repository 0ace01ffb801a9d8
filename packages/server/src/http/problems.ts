// Every error that the http door answers with, as RFC 9457 problem documents. The codes are part of the API: a code
// means the same for ever, and its status never changes.

import type { RefusalCode } from "@yardmaster/core";
import type { Logger } from "pino";

interface ProblemKind {
  readonly status: number;
  /** What the code means, whatever the occasion. */
  readonly title: string;
}

export const problemKinds = {
  bad_request: { status: 400, title: "The request is not understood" },
  unauthorized: { status: 401, title: "The token is missing or wrong" },
  forbidden: { status: 403, title: "A page of another origin may not do this" },
  not_found: { status: 404, title: "There is no such thing" },
  method_not_allowed: { status: 405, title: "The path does not have this method" },
  request_timeout: { status: 408, title: "The request took too long to arrive" },
  wrong_state: { status: 409, title: "The task's state does not allow it" },
  key_conflict: { status: 409, title: "The key belongs to a task with another payload" },
  stale_attempt: { status: 409, title: "The attempt does not hold the task any more" },
  payload_too_large: { status: 413, title: "The payload is too large" },
  queue_full: { status: 429, title: "A limit is reached; try again later" },
  headers_too_large: { status: 431, title: "The request's headers are too large" },
  internal_error: { status: 500, title: "The dispatcher made a mistake" },
  not_ready: { status: 503, title: "The dispatcher is starting or stopping" },
} as const satisfies Readonly<Record<RefusalCode | string, ProblemKind>>;

export type ProblemCode = keyof typeof problemKinds;

// Every word with which the core refuses is one of the door's.
true satisfies RefusalCode extends ProblemCode ? true : false;

/** The codes that say that a peer does something wrong, and not only that it asked at a bad time. */
export const faultCodes: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "bad_request",
  "unauthorized",
  "forbidden",
  "request_timeout",
  "payload_too_large",
  "headers_too_large",
]);

export const problemMediaType = "application/problem+json";

/** The caller is wrong, or has to wait; `message` is the document's detail. */
export class Problem extends Error {
  readonly code: ProblemCode;

  constructor(code: ProblemCode, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.name = "Problem";
    this.code = code;
  }

  get status(): number {
    return problemKinds[this.code].status;
  }

  toJSON(): Record<string, string | number> {
    const { status, title } = problemKinds[this.code];
    return {
      type: `urn:yardmaster:problem:${this.code}`,
      title,
      status,
      detail: this.message,
      code: this.code,
    };
  }
}

/** What fastify itself refuses with, in our words. */
const frameworkProblems: ReadonlyMap<string, [ProblemCode, string]> = new Map(
  Object.entries<[ProblemCode, string]>({
    FST_ERR_CTP_BODY_TOO_LARGE: ["payload_too_large", "the body is larger than this dispatcher takes"],
    FST_ERR_CTP_INVALID_MEDIA_TYPE: ["bad_request", "the Content-Type is not a media type"],
    FST_ERR_CTP_INVALID_CONTENT_LENGTH: ["bad_request", "the body is not as long as its Content-Length says"],
    FST_ERR_BAD_URL: ["bad_request", "the URL is not well formed"],
    FST_ERR_MAX_PARAM_LENGTH: ["bad_request", "a part of the URL is too long"],
  }),
);

/** Any error as a problem; one that is ours is logged with its stack. */
export type ProblemOf = (error: unknown, url?: string) => Problem;

export function loggedProblems(log: Logger): ProblemOf {
  return (error, url) => {
    const problem = problemOf(error);
    if (problem.code === "internal_error") log.error({ err: error, url }, "a request failed");
    return problem;
  };
}

/** Any error as a problem; one that is nobody's but ours keeps its cause for the log and says nothing outside. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
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
  return new Problem("internal_error", "an error of the dispatcher's own; its log says more", {
    cause: error,
  });
}
