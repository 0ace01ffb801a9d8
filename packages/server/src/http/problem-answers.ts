// Sends problems: as the answer to a request or, if the bytes never became a request, directly on
// the socket.

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply } from "fastify";
import { Problem, type ProblemCode, problemMediaType } from "./problems.js";

/** With these codes a body may be refused while it is arriving. */
const unreadCodes: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "payload_too_large",
  "queue_full",
  "quota_reached",
  "too_many_logins",
  "not_owner",
]);

/** With these codes the same request may succeed later. */
const retriedCodes: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "not_ready",
  "not_owner",
  "queue_full",
  "quota_reached",
  "too_many_logins",
]);

/** Notified of every problem that is sent. `by`: the principal, if it is known. */
export type ProblemListener = (problem: Problem, peer: string, by?: string) => void;

export class ProblemAnswers {
  readonly #onProblem: ProblemListener;

  constructor(onProblem: ProblemListener) {
    this.#onProblem = onProblem;
  }

  send(reply: FastifyReply, problem: Problem): FastifyReply {
    this.#onProblem(problem, reply.request.ip, reply.request.login?.principal.by);
    if (problem.code === "no_right") reply.request.login.principal.denied += 1;
    if (problem.code === "unauthorized") reply.header("WWW-Authenticate", "Bearer");
    if (retriedCodes.has(problem.code))
      reply.header("Retry-After", String(Math.max(1, Math.ceil((problem.retryMs ?? 0) / 1000))));
    // The body was not read completely and will not be.
    if (!reply.request.raw.complete && unreadCodes.has(problem.code)) reply.header("Connection", "close");
    // Sent as text, so that the route's answer schema does not apply.
    return reply.code(problem.status).type(problemMediaType).serializer(String).send(JSON.stringify(problem));
  }

  /** For the server's `clientError`. */
  readonly clientError = (error: { readonly code?: string | undefined }, socket: Socket): void => {
    const problem = clientProblem(error.code);
    if (problem) this.#onProblem(problem, socket.remoteAddress ?? "");
    endWith(socket, problem);
  };

  /**
   * For a request's `timeout` event: its body stopped arriving. One shared function, so that
   * requests carry none.
   */
  readonly stalled = stalledListener(this);
}

function stalledListener(answers: ProblemAnswers): (this: IncomingMessage) => void {
  return function () {
    answers.clientError({ code: "ERR_HTTP_REQUEST_TIMEOUT" }, this.socket);
  };
}

/** Broken HTTP, too many headers, or too slow. Undefined if the peer just disconnected. */
function clientProblem(code: string | undefined): Problem | undefined {
  switch (code) {
    case "ECONNRESET":
      return undefined;
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new Problem("request_timeout", "the request came too slowly");
    case "HPE_HEADER_OVERFLOW":
      return new Problem("headers_too_large", "the headers are over 16 KiB");
    default:
      return new Problem("bad_request", "this is not HTTP/1.1");
  }
}

function endWith(socket: Socket, problem: Problem | undefined): void {
  if (!problem || !socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(problem);
  const head = `HTTP/1.1 ${problem.status} ${problem.code}\r\nContent-Type: ${problemMediaType}\r\n`;
  const rest = `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
  socket.end(head + rest, () => socket.destroy());
}
