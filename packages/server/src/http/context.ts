// Shared by the routes: the port, open requests, known workers, and functions that read and show
// tasks and bodies.

import type { IncomingHttpHeaders } from "node:http";
import type { AttemptNumber, Body, TaskId, WorkerId } from "@yardmaster/core";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Login } from "../access/principal.js";
import type { Port } from "../door-kit/door.js";
import type { Answers } from "./answers.js";
import type { AttemptTokens } from "./attempt-token.js";
import type { Bodies } from "./bodies.js";
import type { Exchange } from "./exchange.js";
import { Problem, type ProblemCode, type ProblemOf } from "./problems.js";
import { type TaskJson, taskJson } from "./task-json.js";
import type { WorkStreams } from "./work-streams.js";
import type { WorkerRoster } from "./worker-roster.js";

/** Carries the trace context through the yard. */
export interface TraceCarrier {
  /** The envelope for a task that was submitted with these headers. */
  envelopeOf(headers: IncomingHttpHeaders): Uint8Array | undefined;
  /** The trace context that the worker of this attempt continues, as a `traceparent`. */
  traceparentOf(task: TaskId, attempt: AttemptNumber): string | undefined;
}

export interface HttpContext {
  readonly port: Port;
  readonly exchange: Exchange;
  readonly roster: WorkerRoster;
  readonly streams: WorkStreams;
  readonly tokens: AttemptTokens;
  /** Request bodies in transit. */
  readonly bodies: Bodies;
  readonly answers: Answers;
  /** Answer bodies in transit, and what is read for them. */
  readonly outgoing: Bodies;
  readonly payloadBytesMax: number;
  readonly problemOf: ProblemOf;
  /** Queues that exist even when empty: those with settings, and those of doors. */
  readonly lastingQueues: ReadonlySet<string>;
  /** The names of the settings that the configuration file has for each queue. */
  readonly fileSettings: ReadonlyMap<string, ReadonlySet<string>>;
  /** Absent while tracing is off. */
  readonly traces: TraceCarrier | undefined;
  /** False once the dispatcher begins to stop: from then on it accepts and assigns no tasks. */
  isAccepting(): boolean;
  /** Why new tasks are refused, if memory is short. */
  shortage?(): string | undefined;
}

/** Who sends a request, as it is recorded with what the request does. */
export function senderOf({ ip, login }: Pick<FastifyRequest, "ip" | "login">): string {
  const { by } = login.principal;
  return by === undefined ? ip : `${by} (${ip})`;
}

/** A hook for routes that submit or claim tasks. It runs before the body is read. */
export function refuseWhenStopping(context: HttpContext) {
  return (_request: unknown, _reply: unknown, done: (fault?: Error) => void): void => {
    done(context.isAccepting() ? undefined : new Problem("not_ready", "the dispatcher is stopping"));
  };
}

/**
 * The same for routes that submit tasks, which are also refused while memory is short, or if the
 * principal submits too fast.
 */
export function refuseNewTasks(context: HttpContext) {
  return ({ login }: FastifyRequest, _reply: unknown, done: (fault?: Error) => void): void => {
    const shortage = context.shortage?.();
    if (!context.isAccepting()) return done(new Problem("not_ready", "the dispatcher is stopping"));
    if (shortage !== undefined) return done(new Problem("queue_full", `short of memory: ${shortage}`));
    const { principal } = login;
    const retryMs = principal.quotas.takeSubmissions(1, context.port.now().instant);
    if (retryMs > 0)
      return done(new Problem("quota_reached", `${principal.name} submits too fast`, { retryMs }));
    principal.submitted += 1;
    done();
  };
}

/** More tasks of a request whose first was counted by `refuseNewTasks`. */
export function chargeMoreTasks({ principal }: Login, count: number): void {
  if (count <= 0) return;
  principal.quotas.chargeSubmissions(count);
  principal.submitted += count;
}

/** A task may have a hundred thousand dependents. */
const dependentsShown = 1000;

export async function showTask({ port }: HttpContext, id: TaskId): Promise<TaskJson> {
  const task = await port.reads.task(id);
  if (!task) throw new Problem("not_found", `there is no task ${id}`);
  const waits = (task.progress?.state ?? "waiting") === "waiting";
  const dependents = port.reads.dependents(id, dependentsShown);
  return taskJson(task, waits ? port.reads.why(id) : undefined, { dependents });
}

/**
 * Throws the problem for a refused operation on a task. The core forgets a finished task before
 * history does. While it can still be read, the problem is `code` instead of `not_found`.
 */
export async function stillReadable(
  { port }: HttpContext,
  id: TaskId,
  fault: unknown,
  code: ProblemCode,
): Promise<never> {
  const isUnknown = fault instanceof Problem && fault.code === "not_found";
  const task = isUnknown ? await port.reads.task(id) : undefined;
  if (!task) throw fault;
  throw new Problem(code, `task ${id} is ${task.progress?.state ?? "waiting"}`, { cause: fault });
}

export async function showWorker({ port }: HttpContext, id: WorkerId) {
  const worker = (await port.reads.workers()).find((one) => one.id === id);
  if (!worker) throw new Problem("not_found", `there is no worker ${id}`);
  return worker;
}

const defaultMediaType = "application/octet-stream";
const mediaTypeLengthMax = 255;

/** The request's body, unchanged. */
export function bodyOf(request: { readonly headers: IncomingHttpHeaders; readonly body: unknown }): Body {
  const mediaType = request.headers["content-type"] ?? defaultMediaType;
  if (mediaType.length > mediaTypeLengthMax) {
    throw new Problem("bad_request", `the Content-Type is over ${mediaTypeLengthMax} characters`);
  }
  const bytes = rightSized(request.body);
  return { mediaType, size: bytes.length, bytes };
}

/**
 * Copies a body that is a slice of a larger buffer, because the slice would keep the whole buffer
 * alive. Small bodies stay slices: they share a pool of some kilobytes with bodies of about the
 * same age, and a separate buffer would cost more than their own bytes.
 */
export function rightSized(body: unknown): Uint8Array {
  if (!Buffer.isBuffer(body) || body.length === 0) return noBytes;
  if (body.length === body.buffer.byteLength) return body;
  if (body.length <= pooledBytesMax)
    return body.buffer.byteLength <= Buffer.poolSize ? body : Buffer.from(body);
  const copy = Buffer.allocUnsafeSlow(body.length);
  body.copy(copy);
  return copy;
}

const noBytes = new Uint8Array(0);
/** An eighth of the pool. */
const pooledBytesMax = Buffer.poolSize / 8;

/** Counts an answer's bytes until it is sent or abandoned. Throws if there is no room. */
export function holdAnswer({ answers }: HttpContext, reply: FastifyReply, bytes: number): void {
  if (!answers.hold(reply, bytes)) throw answers.noRoom();
}

/** The media type as a header. A type that HTTP does not allow becomes plain bytes. */
export function mediaTypeHeader({ mediaType }: Body): string {
  return /^[\x20-\x7e]+$/.test(mediaType) ? mediaType : defaultMediaType;
}

export function asBuffer(bytes: Uint8Array | undefined): Buffer {
  return bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : Buffer.alloc(0);
}

/** Drops undefined values. */
export function given<Values extends object>(
  values: Values,
): { [Name in keyof Values]?: Exclude<Values[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}
