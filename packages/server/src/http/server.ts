// The http server itself: limits, timeouts, raw bodies, access, and error handling. It knows no
// routes.

import type { ServerOptions } from "node:https";
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from "fastify";
import type { Login } from "../access/principal.js";
import type { Reads } from "../door-kit/door.js";
import type { Answers } from "./answers.js";
import type { Bodies } from "./bodies.js";
import type { HttpLogins } from "./http-logins.js";
import { KnownPaths } from "./known-paths.js";
import type { OriginRules } from "./origin-rules.js";
import { ProblemAnswers, type ProblemListener } from "./problem-answers.js";
import { Problem, type ProblemOf } from "./problems.js";
import { checkRight, type RouteRight, rightOf } from "./route-rights.js";
import { serializerOf } from "./serializers.js";
import { validatorOf, type ZodTypes } from "./validation.js";

export type HttpServer = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypes
>;

declare module "fastify" {
  interface FastifyRequest {
    /** Who sends the request. Undefined only in routes that are open to everybody. */
    login: Login;
  }
  interface FastifyContextConfig {
    /** Set from the table when the route is added. */
    right?: RouteRight;
  }
}

export interface HttpTimeouts {
  /** Maximum time for a request's headers, from their first byte. */
  readonly headersMs: number;
  /**
   * Maximum time for a whole request: a quarter of a gigabyte at a megabyte per second, and a
   * little more.
   */
  readonly requestMs: number;
  /** Maximum silence of a connection, long polls excluded. */
  readonly silenceMs: number;
  /** How often the first two are checked. */
  readonly checkMs: number;
}

export const defaultTimeouts: HttpTimeouts = {
  headersMs: 15_000,
  requestMs: 300_000,
  silenceMs: 60_000,
  checkMs: 5_000,
};

/** Maximum body of a request without a payload, and of a request to an unknown path. */
const smallBodyBytesMax = 65_536;
/** Maximum length of a path segment: a worker's id with every character escaped. */
const pathPartMax = 4096;
/**
 * Each connection costs a descriptor and some kilobytes. Beyond this number, new ones are closed at
 * once.
 */
const connectionsMax = 16_384;

/** How connections are accepted. Node's http server sets the other options itself. */
export const acceptOptions = {
  allowHalfOpen: true,
  noDelay: true,
  // Detects a peer that vanished silently while it waits.
  keepAlive: true,
  keepAliveInitialDelay: 30_000,
} as const;

export interface HttpServerOptions {
  readonly origins: OriginRules;
  readonly logins: HttpLogins;
  /** To find the queue of a task, a worker or a schedule. */
  readonly reads: Reads;
  /** Calls `done` with a problem if a standby cannot answer the operation. */
  readonly checkOwnership: (operation: string | undefined, done: (fault?: Problem) => void) => void;
  /** Absent: plain http. */
  readonly tls?: ServerOptions | undefined;
  readonly bodies: Bodies;
  readonly answers: Answers;
  readonly timeouts: HttpTimeouts;
  readonly problemOf: ProblemOf;
  readonly onProblem: ProblemListener;
  /** A request has been answered. */
  readonly onAnswered: (request: FastifyRequest, reply: FastifyReply) => void;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const {
    origins,
    logins,
    reads,
    checkOwnership,
    tls,
    bodies,
    answers: outgoing,
    timeouts,
    problemOf,
    onProblem,
    onAnswered,
  } = options;
  const answers = new ProblemAnswers(onProblem);
  const tuning: ServerOptions = {
    headersTimeout: timeouts.headersMs,
    connectionsCheckingInterval: timeouts.checkMs,
    // A missing Host header is answered like any other mistake.
    requireHostHeader: false,
    ...acceptOptions,
  };
  const app = fastify({
    bodyLimit: smallBodyBytesMax,
    connectionTimeout: timeouts.silenceMs,
    requestTimeout: timeouts.requestMs,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    routerOptions: { maxParamLength: pathPartMax },
    // Fastify's types distinguish http from https; the rest of the door need not.
    ...((tls === undefined ? { http: tuning } : { https: { ...tuning, ...tls } }) as { http: ServerOptions }),
    clientErrorHandler: answers.clientError,
    frameworkErrors: (error, _request, reply) => answers.send(reply as never, problemOf(error)),
  }).withTypeProvider<ZodTypes>();
  app.server.maxConnections = connectionsMax;
  app.setValidatorCompiler(validatorOf);
  app.setSerializerCompiler(({ schema }) => serializerOf(schema));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", bodies.parse);
  const paths = new KnownPaths();
  paths.watch(app);
  app.addHook("onRequest", outgoing.admit);
  app.decorateRequest("login");
  app.addHook("onRoute", ({ config }) => {
    if (config?.operation !== undefined) config.right = rightOf(config.operation.id);
  });
  app.addHook("onRequest", (request, _reply, done) => {
    request.raw.on("timeout", answers.stalled);
    const fault = origins.hostFault(request.raw.rawHeaders) ?? origins.originFault(request.headers);
    if (fault !== undefined) return done(fault);
    checkOwnership(request.routeOptions.config.operation?.id, done);
  });
  app.addHook("onRequest", (request, _reply, done) => {
    // A path without an operation is unknown. That is said only to those who may come in.
    const needed = request.routeOptions.config.right ?? "login";
    if (needed === "nothing") return done();
    const login = logins.of(request);
    if (login instanceof Problem) return done(login);
    request.login = login;
    checkRight(reads, login.principal, needed, request, done);
  });
  app.addHook("onSend", outgoing.count);
  app.addHook("onResponse", (request, reply, done) => {
    outgoing.answered(request);
    onAnswered(request, reply);
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error, request.url);
    // An invalid id may be a verb that has another method: `GET /v1/tasks/1:cancel`. Fastify also
    // refuses a QUERY without a media type before it looks at the path.
    const isMisread = problem.code === "not_found" || problem.code === "bad_request";
    const misrouted = isMisread ? wrongMethod(paths, reply) : undefined;
    return answers.send(reply, misrouted ?? problem);
  });
  app.setNotFoundHandler(({ method, url }, reply) => {
    const nowhere = new Problem("not_found", `there is no ${method} ${url.slice(0, shownUrlMax)}`);
    return answers.send(reply, wrongMethod(paths, reply) ?? nowhere);
  });
  return app;
}

const shownUrlMax = 200;

/** The problem for a known path with a wrong method, with its Allow header. */
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
