// Tasks over http: list, look at, fetch their bytes, cancel. Handing them in is in submit-routes.

import type { Body, TaskId } from "@yardmaster/core";
import { type BodyPart, CursorMismatch } from "@yardmaster/engines";
import type { FastifyReply } from "fastify";
import {
  asBuffer,
  given,
  type HttpContext,
  holdAnswer,
  mediaTypeHeader,
  showTask,
  stillReadable,
} from "./context.js";
import { anyBytes, operation } from "./operation.js";
import { listQuery, taskPath } from "./parameters.js";
import { Problem } from "./problems.js";
import { taskPageSchema, taskSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";
import { taskJson } from "./task-json.js";

export function addTaskRoutes(app: HttpServer, context: HttpContext): void {
  const { port, exchange } = context;

  app.get("/v1/tasks", listOperation, async ({ query: { q, ...query } }) => {
    const page = await port.reads
      .find({ ...given({ ...query, text: q }), limit: query.limit })
      .catch(refuseCursor);
    return {
      items: page.items.map((task) => taskJson(task, port.reads.why(task.head.id))),
      cursor: page.cursor ?? null,
    };
  });

  app.get("/v1/tasks/:id", getOperation, ({ params }) => showTask(context, params.id));

  app.get("/v1/tasks/:id/payload", partOperation("payload", "getPayload"), async ({ params }, reply) =>
    sendBody(context, reply, await bodyPart(context, params.id, "payload")),
  );

  app.get("/v1/tasks/:id/result", partOperation("result", "getResult"), async ({ params }, reply) =>
    sendBody(context, reply, await bodyPart(context, params.id, "result")),
  );

  app.post("/v1/tasks/:id(.*)::cancel", cancelOperation, async ({ params: { id }, ip }) => {
    const cancelled = exchange.ask((request) => ({ type: "cancel-asked", request, task: id, by: ip }));
    await cancelled.catch((fault) => stillReadable(context, id, fault, "wrong_state"));
    return showTask(context, id);
  });
}

function refuseCursor(fault: unknown): never {
  if (fault instanceof CursorMismatch)
    throw new Problem("bad_request", `cursor: ${fault.message}`, { cause: fault });
  throw fault;
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
function sendBody(context: HttpContext, reply: FastifyReply, body: Body): FastifyReply {
  holdAnswer(context, reply, body.size);
  return reply
    .header("Content-Type", mediaTypeHeader(body))
    .header("Content-Security-Policy", "sandbox; default-src 'none'")
    .header("X-Content-Type-Options", "nosniff")
    .send(asBuffer(body.bytes));
}

const listOperation = operation({
  id: "listTasks",
  tag: "tasks",
  summary: "Find tasks, newest first",
  description: "A `cursor` goes on where the page before ended, and belongs to the same filter.",
  query: listQuery,
  answers: { 200: { is: "A page of tasks", json: taskPageSchema } },
});

const getOperation = operation({
  id: "getTask",
  tag: "tasks",
  summary: "Look at a task",
  path: taskPath,
  answers: { 200: { is: "The task", json: taskSchema } },
  problems: ["not_found"],
});

function partOperation(part: BodyPart, id: string) {
  return operation({
    id,
    tag: "tasks",
    summary: `Fetch a task's ${part}`,
    path: taskPath,
    answers: { 200: { is: `The ${part} as it came, with its Content-Type`, content: anyBytes } },
    problems: ["not_found", "wrong_state", "queue_full"],
  });
}

const cancelOperation = operation({
  id: "cancelTask",
  tag: "tasks",
  summary: "Cancel a task that is not finished",
  path: taskPath,
  answers: { 200: { is: "The task, cancelled", json: taskSchema } },
  problems: ["not_found", "wrong_state"],
});
