// What the routes share: the port, the open questions, the workers seen, and how a task or a body is read and shown.

import type { IncomingHttpHeaders } from "node:http";
import type { AttemptNumber, Body, TaskId, WorkerId } from "@yardmaster/core";
import type { FastifyReply } from "fastify";
import type { Port } from "../door-kit/door.js";
import type { Answers } from "./answers.js";
import type { AttemptTokens } from "./attempt-token.js";
import type { Bodies } from "./bodies.js";
import type { Exchange } from "./exchange.js";
import { Problem, type ProblemCode, type ProblemOf } from "./problems.js";
import { type TaskJson, taskJson } from "./task-json.js";
import type { WorkerRoster } from "./worker-roster.js";

/** Carries the context of traces through the yard. */
export interface TraceCarrier {
  /** What a task handed in with these headers is to carry along. */
  envelopeOf(headers: IncomingHttpHeaders): Uint8Array | undefined;
  /** The context that whoever works on this attempt goes on with, as a `traceparent`. */
  traceparentOf(task: TaskId, attempt: AttemptNumber): string | undefined;
}

export interface HttpContext {
  readonly port: Port;
  readonly exchange: Exchange;
  readonly roster: WorkerRoster;
  readonly tokens: AttemptTokens;
  /** Of requests. */
  readonly bodies: Bodies;
  readonly answers: Answers;
  /** Of answers, and of what is read for them. */
  readonly outgoing: Bodies;
  readonly payloadBytesMax: number;
  readonly problemOf: ProblemOf;
  /** Queues that are there even when empty: those with settings, and those of doors. */
  readonly lastingQueues: ReadonlySet<string>;
  /** Absent while nobody traces. */
  readonly traces: TraceCarrier | undefined;
  /** False from the moment the dispatcher begins to stop: then nothing new is taken in or given out. */
  isAccepting(): boolean;
  /** Why new tasks are refused, while they are for want of memory. */
  shortage?(): string | undefined;
}

/** A hook for routes that bring new work in or take it out; before the body is read. */
export function refuseWhenStopping(context: HttpContext) {
  return (_request: unknown, _reply: unknown, done: (fault?: Error) => void): void => {
    done(context.isAccepting() ? undefined : new Problem("not_ready", "the dispatcher is stopping"));
  };
}

/** The same for new tasks alone, which are also refused while memory is short. */
export function refuseNewTasks(context: HttpContext) {
  return (_request: unknown, _reply: unknown, done: (fault?: Error) => void): void => {
    const shortage = context.shortage?.();
    if (!context.isAccepting()) done(new Problem("not_ready", "the dispatcher is stopping"));
    else if (shortage !== undefined) done(new Problem("queue_full", `short of memory: ${shortage}`));
    else done();
  };
}

export async function showTask({ port }: HttpContext, id: TaskId): Promise<TaskJson> {
  const task = await port.reads.task(id);
  if (!task) throw new Problem("not_found", `there is no task ${id}`);
  const waits = (task.progress?.state ?? "waiting") === "waiting";
  return taskJson(task, waits ? port.reads.why(id) : undefined);
}

/**
 * Throws what a refusal means for a task. The yard forgets a finished task before history does: as long as it can be
 * read, it is not unknown, only past what was asked of it.
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

/** The request's body as it came. */
export function bodyOf(request: { readonly headers: IncomingHttpHeaders; readonly body: unknown }): Body {
  const mediaType = request.headers["content-type"] ?? defaultMediaType;
  if (mediaType.length > mediaTypeLengthMax) {
    throw new Problem("bad_request", `the Content-Type is over ${mediaTypeLengthMax} characters`);
  }
  const bytes = rightSized(request.body);
  return { mediaType, size: bytes.length, bytes };
}

/**
 * Where it is a slice of something larger, a copy, so that not all of that lives as long as the task. Small ones share a
 * pool of some kilobytes with their neighbours in time, who mostly go when they do: a buffer of its own costs each of
 * them more than it has bytes.
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

/** Counts an answer's bytes among those on their way until it has left, or never will. Throws when there is no room. */
export function holdAnswer({ answers }: HttpContext, reply: FastifyReply, bytes: number): void {
  if (!answers.hold(reply, bytes)) throw answers.noRoom();
}

/** As a header; a type from a dialect that allows more than HTTP does becomes plain bytes. */
export function mediaTypeHeader({ mediaType }: Body): string {
  return /^[\x20-\x7e]+$/.test(mediaType) ? mediaType : defaultMediaType;
}

export function asBuffer(bytes: Uint8Array | undefined): Buffer {
  return bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : Buffer.alloc(0);
}

/** Without what nobody gave. */
export function given<Values extends object>(
  values: Values,
): { [Name in keyof Values]?: Exclude<Values[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}
