// The http server itself: limits and time limits, raw bodies, access, and where errors go. It knows no route.

import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from "fastify";
import type { Access } from "./access.js";
import type { Bodies } from "./bodies.js";
import { ProblemAnswers, type ProblemListener } from "./problem-answers.js";
import { Problem, type ProblemOf } from "./problems.js";
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

export interface HttpServerOptions {
  readonly access: Access;
  readonly bodies: Bodies;
  readonly timeouts: HttpTimeouts;
  readonly problemOf: ProblemOf;
  readonly onProblem: ProblemListener;
  /** A request has been answered. */
  readonly onAnswered: (request: FastifyRequest, reply: FastifyReply) => void;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { access, bodies, timeouts, problemOf, onProblem, onAnswered } = options;
  const answers = new ProblemAnswers(onProblem);
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
    clientErrorHandler: answers.clientError,
    frameworkErrors: (error, _request, reply) => answers.send(reply as never, problemOf(error)),
  }).withTypeProvider<ZodTypes>();
  app.server.maxConnections = connectionsMax;
  app.setValidatorCompiler(validatorOf);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", bodies.parse);
  app.addHook("onRequest", (request, _reply, done) => {
    request.raw.on("timeout", answers.stalled);
    done(accessFault(access, request));
  });
  app.addHook("onResponse", (request, reply, done) => {
    onAnswered(request, reply);
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    return answers.send(reply, problemOf(error, request.url));
  });
  app.setNotFoundHandler(({ method, url }, reply) => {
    return answers.send(reply, new Problem("not_found", `there is no ${method} ${url.slice(0, 200)}`));
  });
  return app;
}

/** Whether it lives is no secret, and who asks has no token; nor has whoever opens the page to enter one. */
function accessFault(access: Access, request: FastifyRequest): Problem | undefined {
  const fault = access.originFault(request.headers);
  if (fault || request.routeOptions.config.operation?.isOpen) return fault;
  return access.tokenFault(request.headers);
}
