// Routes for tasks: list them, show one, fetch its bytes, cancel it. Submitting is in
// submit-routes.

import type { Body, StoredTask, TaskId } from "@yardmaster/core";
import { type BodyPart, CursorMismatch, type TaskPage, type TaskQuery } from "@yardmaster/engines";
import type { FastifyReply } from "fastify";
import type { Principal } from "../access/principal.js";
import type { Reads } from "../door-kit/door.js";
import {
  asBuffer,
  given,
  type HttpContext,
  holdAnswer,
  mediaTypeHeader,
  senderOf,
  showTask,
  stillReadable,
} from "./context.js";
import { sendOutcome, wantsMinimal } from "./minimal.js";
import { anyBytes, operation } from "./operation.js";
import { listQuery, lookQuery, taskPath } from "./parameters.js";
import { Problem } from "./problems.js";
import { taskPageSchema, taskSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";
import { whenFinished } from "./submit-routes.js";
import { outlookJson, taskJson } from "./task-json.js";

export function addTaskRoutes(app: HttpServer, context: HttpContext): void {
  const { port, exchange } = context;

  app.get("/v1/tasks", listOperation, async ({ query: { q, ...query }, login }) => {
    const page = await findReadable(port.reads, login.principal, {
      ...given({ ...query, text: q }),
      limit: query.limit,
    }).catch(refuseCursor);
    return {
      items: page.items.map((task) => taskJson(task, port.reads.why(task.head.id))),
      cursor: page.cursor ?? null,
    };
  });

  app.get("/v1/tasks/:id", getOperation, async (request, reply) => {
    const { params, query } = request;
    const { id } = params;
    if (query.wait !== undefined) {
      const { outcome } = await whenFinished(context, reply, id, query.wait);
      if (wantsMinimal(request) && outcome !== undefined && sendOutcome(reply, id, outcome)) return reply;
    }
    const task = await showTask(context, id);
    return query.outlook ? { ...task, outlook: outlookJson(port.reads.outlook(id)) } : task;
  });

  app.get("/v1/tasks/:id/payload", partOperation("payload", "getPayload"), async ({ params }, reply) =>
    sendBody(context, reply, await bodyPart(context, params.id, "payload")),
  );

  app.get("/v1/tasks/:id/result", partOperation("result", "getResult"), async ({ params }, reply) =>
    sendBody(context, reply, await bodyPart(context, params.id, "result")),
  );

  app.post("/v1/tasks/:id(.*)::cancel", cancelOperation, async (asked) => {
    const { id } = asked.params;
    const by = senderOf(asked);
    const cancelled = exchange.ask((request) => ({ type: "cancel-asked", request, task: id, by }));
    await cancelled.catch((fault) => stillReadable(context, id, fault, "wrong_state"));
    return showTask(context, id);
  });
}

/**
 * At most this many pages are read to fill one page for a principal that may not read all queues.
 * The answer may then be shorter than the limit, with a cursor.
 */
const pagesReadMax = 20;

/** A page of tasks in queues that the principal may read. */
async function findReadable(reads: Reads, { rights }: Principal, query: TaskQuery): Promise<TaskPage> {
  if (rights.mayForAll("read")) return reads.find(query);
  if (query.queue !== undefined)
    return rights.may("read", query.queue) ? reads.find(query) : { items: [], cursor: undefined };
  const items: StoredTask[] = [];
  let { cursor } = query;
  for (let pages = 0; pages < pagesReadMax; pages++) {
    const limit = query.limit - items.length;
    const page: TaskPage = await reads.find({ ...query, limit, ...(cursor !== undefined && { cursor }) });
    for (const task of page.items) if (rights.may("read", task.head.queue)) items.push(task);
    cursor = page.cursor;
    if (cursor === undefined || items.length >= query.limit) break;
  }
  return { items, cursor };
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

/**
 * These bytes are untrusted but have our origin: a browser may show them, but must not run them as
 * a page of ours, nor give them to a page of another origin that names them as its script or image.
 */
function sendBody(context: HttpContext, reply: FastifyReply, body: Body): FastifyReply {
  holdAnswer(context, reply, body.size);
  return reply
    .header("Content-Type", mediaTypeHeader(body))
    .header("Content-Security-Policy", "sandbox; default-src 'none'")
    .header("X-Content-Type-Options", "nosniff")
    .header("Cross-Origin-Resource-Policy", "same-origin")
    .send(asBuffer(body.bytes));
}

const listOperation = operation({
  id: "listTasks",
  tag: "tasks",
  summary: "Find tasks, newest first",
  description: "A `cursor` continues where the previous page ended. It is valid only with the same filter.",
  query: listQuery,
  answers: { 200: { is: "A page of tasks", json: taskPageSchema } },
});

const getOperation = operation({
  id: "getTask",
  tag: "tasks",
  summary: "Show a task",
  description:
    "With `outlook=true`, also the number of tasks before it and the deadline of its attempt. Both are current values that " +
    "are not committed. With `wait`, the answer comes when the task has ended, or when the wait is over. With " +
    "`view=minimal` as well, it is the outcome alone if the task ended during the wait and its result is small.",
  path: taskPath,
  query: lookQuery,
  answers: { 200: { is: "The task", json: taskSchema, orMinimal: true } },
  problems: ["not_found"],
});

function partOperation(part: BodyPart, id: string) {
  return operation({
    id,
    tag: "tasks",
    summary: `Fetch a task's ${part}`,
    path: taskPath,
    answers: { 200: { is: `The ${part} unchanged, with its Content-Type`, content: anyBytes } },
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
