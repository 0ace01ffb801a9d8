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
import type { Answers } from "./answers.js";
import type { Bodies } from "./bodies.js";
import { KnownPaths } from "./known-paths.js";
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
  readonly answers: Answers;
  readonly timeouts: HttpTimeouts;
  readonly problemOf: ProblemOf;
  readonly onProblem: ProblemListener;
  /** A request has been answered. */
  readonly onAnswered: (request: FastifyRequest, reply: FastifyReply) => void;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { access, bodies, answers: outgoing, timeouts, problemOf, onProblem, onAnswered } = options;
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
  const paths = new KnownPaths();
  paths.watch(app);
  app.addHook("onRequest", outgoing.admit);
  app.addHook("onRequest", (request, _reply, done) => {
    request.raw.on("timeout", answers.stalled);
    done(accessFault(access, request));
  });
  app.addHook("onSend", outgoing.count);
  app.addHook("onResponse", (request, reply, done) => {
    outgoing.answered(request);
    onAnswered(request, reply);
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error, request.url);
    // An id that cannot be one may be a verb that has another method: `GET /v1/tasks/1:cancel`.
    const misrouted = problem.code === "not_found" ? wrongMethod(paths, reply) : undefined;
    return answers.send(reply, misrouted ?? problem);
  });
  app.setNotFoundHandler(({ method, url }, reply) => {
    const nowhere = new Problem("not_found", `there is no ${method} ${url.slice(0, shownUrlMax)}`);
    return answers.send(reply, wrongMethod(paths, reply) ?? nowhere);
  });
  return app;
}

const shownUrlMax = 200;

/** What to answer where the path is known and the method is not its own; with the Allow header that belongs to it. */
function wrongMethod(paths: KnownPaths, reply: FastifyReply): Problem | undefined {
  const { method, url } = reply.request;
  const methods = paths.methodsOf(url);
  if (methods.length === 0 || methods.includes(method)) return undefined;
  const allowed = methods.join(", ");
  reply.header("Allow", allowed);
  return new Problem(
    "method_not_allowed",
    `${url.slice(0, shownUrlMax)} has no ${method}; it has ${allowed}`,
  );
}

/** Whether it lives and is ready is no secret, and what checks that has no token; nor has a person opening the page. */
function accessFault(access: Access, request: FastifyRequest): Problem | undefined {
  const fault = access.hostFault(request.raw.rawHeaders) ?? access.originFault(request.headers);
  if (fault || request.routeOptions.config.operation?.isOpen) return fault;
  return access.tokenFault(request.headers);
}
