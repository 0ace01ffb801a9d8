// How a problem leaves the door: as the answer to a request, or, when no request ever came of it, straight on the socket.

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply } from "fastify";
import { Problem, type ProblemCode, problemMediaType } from "./problems.js";

/** With these a body may be refused while it is on its way. */
const unreadCodes: ReadonlySet<ProblemCode> = new Set<ProblemCode>(["payload_too_large", "queue_full"]);

/** Hears of every problem that is answered with. */
export type ProblemListener = (problem: Problem, peer: string) => void;

export class ProblemAnswers {
  readonly #onProblem: ProblemListener;

  constructor(onProblem: ProblemListener) {
    this.#onProblem = onProblem;
  }

  send(reply: FastifyReply, problem: Problem): FastifyReply {
    this.#onProblem(problem, reply.request.ip);
    if (problem.code === "unauthorized") reply.header("WWW-Authenticate", "Bearer");
    if (problem.code === "not_ready" || problem.code === "queue_full") reply.header("Retry-After", "1");
    // Its body was not read to the end, and nobody is going to.
    if (!reply.request.raw.complete && unreadCodes.has(problem.code)) reply.header("Connection", "close");
    // Text, so that a route's own schema for its answers has no say in it.
    return reply.code(problem.status).type(problemMediaType).serializer(String).send(JSON.stringify(problem));
  }

  /** For the server's `clientError`. */
  readonly clientError = (error: { readonly code?: string | undefined }, socket: Socket): void => {
    const problem = clientProblem(error.code);
    if (problem) this.#onProblem(problem, socket.remoteAddress ?? "");
    endWith(socket, problem);
  };

  /** For a request's `timeout`: its body stopped coming half-way. One function for all, so that none carries its own. */
  readonly stalled = stalledListener(this);
}

function stalledListener(answers: ProblemAnswers): (this: IncomingMessage) => void {
  return function () {
    answers.clientError({ code: "ERR_HTTP_REQUEST_TIMEOUT" }, this.socket);
  };
}

/** Broken HTTP, too many headers, too slow. Nothing when the peer is just gone. */
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
