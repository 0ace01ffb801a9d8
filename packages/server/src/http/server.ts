// The http server itself: limits and time limits, raw bodies, and one way to answer errors. It knows no route.

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from "fastify";
import type { Logger } from "pino";
import type { Access } from "./access.js";
import { Problem, problemMediaType, problemOf } from "./problems.js";
import { validatorOf, type ZodTypes } from "./validation.js";

export type HttpServer = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypes
>;

export interface HttpTimeouts {
  /** A request's headers, from their first byte. */
  readonly headersMs: number;
  /** The whole request: a quarter of a gigabyte at a megabyte a second, and a little. */
  readonly requestMs: number;
  /** Silence of a connection, waits aside. */
  readonly silenceMs: number;
  /** How often the first two are looked at. */
  readonly checkMs: number;
}

export const defaultTimeouts: HttpTimeouts = {
  headersMs: 15_000,
  requestMs: 300_000,
  silenceMs: 60_000,
  checkMs: 5_000,
};

/** What a request without a payload may carry, and what a request to nowhere may make us read. */
const smallBodyBytesMax = 65_536;
/** A worker's id with every character escaped. */
const pathPartMax = 4096;
/** Each costs a descriptor and some kilobytes; beyond this new ones are closed at once. */
const connectionsMax = 16_384;

export function createHttpServer(options: {
  access: Access;
  timeouts: HttpTimeouts;
  log: Logger;
}): HttpServer {
  const { access, timeouts, log } = options;
  const app = fastify({
    bodyLimit: smallBodyBytesMax,
    connectionTimeout: timeouts.silenceMs,
    requestTimeout: timeouts.requestMs,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    routerOptions: { maxParamLength: pathPartMax },
    http: {
      headersTimeout: timeouts.headersMs,
      connectionsCheckingInterval: timeouts.checkMs,
      // Missing ones are answered like every other mistake.
      requireHostHeader: false,
      // A peer that vanished without a word is noticed while it waits.
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
    },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, _request, reply) => sendProblem(reply as never, problemOf(error)),
  }).withTypeProvider<ZodTypes>();
  app.server.maxConnections = connectionsMax;
  app.setValidatorCompiler(validatorOf);
  keepBodiesRaw(app);
  app.addHook("onRequest", (request, _reply, done) => {
    request.raw.on("timeout", answerStalled);
    done(accessFault(access, request));
  });
  app.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error);
    if (problem.code === "internal_error")
      log.error({ err: error, url: request.url }, "http: a request failed");
    return sendProblem(reply, problem);
  });
  app.setNotFoundHandler(({ method, url }, reply) => {
    return sendProblem(reply, new Problem("not_found", `there is no ${method} ${url.slice(0, 200)}`));
  });
  return app;
}

function keepBodiesRaw(app: HttpServer): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
}

/** Whether it lives is no secret, and who asks has no token. */
function accessFault(access: Access, request: FastifyRequest): Problem | undefined {
  const fault = access.originFault(request.headers);
  if (fault || request.routeOptions.url === "/healthz") return fault;
  return access.tokenFault(request.headers);
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  if (problem.code === "unauthorized") reply.header("WWW-Authenticate", "Bearer");
  if (problem.code === "not_ready" || problem.code === "queue_full") reply.header("Retry-After", "1");
  // Text, so that a route's own schema for its answers has no say in it.
  return reply.code(problem.status).type(problemMediaType).serializer(String).send(JSON.stringify(problem));
}

/** What never became a request: broken HTTP, too many headers, too slow. */
function answerClientError(error: { readonly code?: string | undefined }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = clientProblem(error.code);
  const body = JSON.stringify(problem);
  const head = `HTTP/1.1 ${problem.status} ${problem.code}\r\nContent-Type: ${problemMediaType}\r\n`;
  const rest = `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
  socket.end(head + rest, () => socket.destroy());
}

/** The body stopped coming half-way. Shared by all requests, so that none carries a closure for it. */
function answerStalled(this: IncomingMessage): void {
  answerClientError({ code: "ERR_HTTP_REQUEST_TIMEOUT" }, this.socket);
}

function clientProblem(code: string | undefined): Problem {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new Problem("request_timeout", "the request came too slowly");
  if (code === "HPE_HEADER_OVERFLOW") return new Problem("headers_too_large", "the headers are over 16 KiB");
  return new Problem("bad_request", "this is not HTTP/1.1");
}
