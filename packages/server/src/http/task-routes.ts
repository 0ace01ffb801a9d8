// Tasks over http: submit, list, look at, fetch their bytes, cancel.

import { createHash } from "node:crypto";
import { type Body, later, type Submission, type TaskId } from "@yardmaster/core";
import { type BodyPart, CursorMismatch } from "@yardmaster/engines";
import type { FastifyReply } from "fastify";
import type * as z from "zod";
import {
  asBuffer,
  bodyOf,
  given,
  type HttpContext,
  mediaTypeHeader,
  refuseWhenStopping,
  showTask,
  stillReadable,
} from "./context.js";
import { listQuery, noQuery, queuePath, submitQuery, taskPath } from "./parameters.js";
import { Problem } from "./problems.js";
import type { HttpServer } from "./server.js";
import { taskJson, taskPageSchema, taskSchema } from "./task-json.js";

export function addTaskRoutes(app: HttpServer, context: HttpContext): void {
  const { port, exchange } = context;

  app.post(
    "/v1/queues/:queue/tasks",
    {
      bodyLimit: context.payloadBytesMax,
      onRequest: refuseWhenStopping(context),
      schema: { params: queuePath, querystring: submitQuery, response: { "2xx": taskSchema } },
    },
    async (request, reply) => {
      const { params, query } = request;
      const submission = submissionOf(params.queue, bodyOf(request), query, context);
      const answer = await exchange.ask((number) => ({
        type: "task-submitted",
        request: number,
        submission,
      }));
      if (answer.type !== "accepted") throw new Error(`a submission was answered with ${answer.type}`);
      if (query.wait !== undefined) return sendWhenFinished(context, reply, answer.task, query.wait);
      if (answer.existing) return showTask(context, answer.task);
      reply.code(201).header("Location", `/v1/tasks/${answer.task}`);
      return showTask(context, answer.task);
    },
  );

  app.get(
    "/v1/tasks",
    { schema: { querystring: listQuery, response: { 200: taskPageSchema } } },
    async ({ query: { q, ...query } }) => {
      const page = await port.reads
        .find({ ...given({ ...query, text: q }), limit: query.limit })
        .catch(refuseCursor);
      return {
        items: page.items.map((task) => taskJson(task, port.reads.why(task.head.id))),
        cursor: page.cursor ?? null,
      };
    },
  );

  app.get(
    "/v1/tasks/:id",
    { schema: { params: taskPath, querystring: noQuery, response: { 200: taskSchema } } },
    ({ params }) => showTask(context, params.id),
  );

  for (const part of ["payload", "result"] as const) {
    app.get(
      `/v1/tasks/:id/${part}`,
      { schema: { params: taskPath, querystring: noQuery } },
      async ({ params }, reply) => sendBody(reply, await bodyPart(context, params.id, part)),
    );
  }

  app.post(
    "/v1/tasks/:id(.*)::cancel",
    { schema: { params: taskPath, querystring: noQuery, response: { 200: taskSchema } } },
    async ({ params: { id }, ip }) => {
      const cancelled = exchange.ask((request) => ({ type: "cancel-asked", request, task: id, by: ip }));
      await cancelled.catch((fault) => stillReadable(context, id, fault, "wrong_state"));
      return showTask(context, id);
    },
  );
}

function refuseCursor(fault: unknown): never {
  if (fault instanceof CursorMismatch)
    throw new Problem("bad_request", `cursor: ${fault.message}`, { cause: fault });
  throw fault;
}

function submissionOf(
  queue: string,
  payload: Body,
  query: z.output<typeof submitQuery>,
  { port }: HttpContext,
): Submission {
  const { priority, delay, timeout, expires, attempts, failures, key } = query;
  return {
    queue,
    payload,
    ...given({
      priority,
      delayMs: delay,
      attemptTimeoutMs: timeout,
      expiresAt: expires === undefined ? undefined : later(port.now().wall, expires),
      attempts,
      failures,
      key,
      fingerprint: key === undefined ? undefined : fingerprintOf(payload),
    }),
  };
}

/** Tells a request that was sent twice from a key that was used for something else. */
function fingerprintOf({ mediaType, bytes }: Body): string {
  return createHash("sha256")
    .update(`${mediaType}\n`)
    .update(bytes ?? "")
    .digest("base64url");
}

async function sendWhenFinished(context: HttpContext, reply: FastifyReply, task: TaskId, forMs: number) {
  const answer = await context.exchange.ask((request) => ({ type: "task-watched", request, task, forMs }), {
    response: reply.raw,
    atClose: { type: "watched", task, finished: false },
  });
  reply.code(answer.type === "watched" && answer.finished ? 200 : 202);
  return showTask(context, task);
}

async function bodyPart({ port }: HttpContext, id: TaskId, part: BodyPart): Promise<Body> {
  const body = await port.reads.body(id, part);
  if (body) return body;
  const task = await port.reads.task(id);
  if (!task) throw new Problem("not_found", `there is no task ${id}`);
  const { finishedAt, state = "waiting" } = task.progress ?? {};
  if (finishedAt === undefined)
    throw new Problem("wrong_state", `task ${id} is ${state}: it has no ${part} yet`);
  throw new Problem("not_found", `task ${id} is ${state}: it has no ${part}`);
}

/** Somebody else's bytes under our origin: a browser may show them, but not run them as a page of ours. */
function sendBody(reply: FastifyReply, body: Body): FastifyReply {
  return reply
    .header("Content-Type", mediaTypeHeader(body))
    .header("Content-Security-Policy", "sandbox; default-src 'none'")
    .header("X-Content-Type-Options", "nosniff")
    .send(asBuffer(body.bytes));
}
