// Handing work in over http: one task, many at once, and one that ended badly again.

import type { IncomingMessage } from "node:http";
import type { Submission, TaskId } from "@yardmaster/core";
import type { FastifyReply } from "fastify";
import { answerBatch, bytesOf, type PutAnswer, readItem } from "./batch.js";
import { bodyOf, type HttpContext, refuseNewTasks, showTask } from "./context.js";
import { anyBytes, operation } from "./operation.js";
import { queuePath, retryQuery, submitItem, submitQuery, taskPath } from "./parameters.js";
import { Problem } from "./problems.js";
import { batchAnswerSchema, submissionSchema, taskSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";
import { submissionOf } from "./submission.js";
import { acceptedJson, type TaskJson } from "./task-json.js";

export function addSubmitRoutes(app: HttpServer, context: HttpContext): void {
  const onRequest = refuseNewTasks(context);
  const bodyLimit = context.payloadBytesMax;

  app.post("/v1/queues/:queue/tasks", { bodyLimit, onRequest, ...submitOperation }, (request, reply) => {
    const { params, query, headers } = request;
    const asked = { queue: params.queue, payload: bodyOf(request), wishes: query, headers };
    // Without a promise: this is what most requests are.
    submit(context, submissionOf(context, asked), (submitted) => {
      if (submitted instanceof Problem) reply.send(submitted);
      else if (query.wait === undefined) sendAccepted(context, reply, submitted);
      else sendWhenFinished(context, reply, submitted.id, query.wait);
    });
  });

  app.post(
    "/v1/queues/:queue/tasks::batch",
    { bodyLimit, onRequest, ...batchOperation },
    async ({ params, headers, body }, reply) => {
      if (body === undefined) return sendBatch(reply, []);
      const show = reply.compileSerializationSchema(taskSchema) as (task: TaskJson) => string;
      const likeLast = new LikeLast(show);
      const answers = await answerBatch(body as IncomingMessage, {
        bodies: context.bodies,
        bytesMax: bodyLimit,
        problemOf: context.problemOf,
        take(item, put) {
          const { payload, payloadBase64, contentType, ...wishes } = readItem(item, submitItem);
          if (payload !== undefined && payloadBase64 !== undefined)
            throw new Problem("bad_request", `line ${item.line}: payload or payloadBase64, not both`);
          const bytes = bytesOf(payload, payloadBase64, contentType);
          const submission = submissionOf(context, { queue: params.queue, payload: bytes, wishes, headers });
          submit(context, submission, (submitted) => {
            if (submitted instanceof Problem) put(JSON.stringify(submitted));
            else if (submitted.task === undefined) putTask(context, submitted.id, show, put);
            else put(likeLast.show(submitted.task));
          });
        },
      });
      return sendBatch(reply, answers);
    },
  );

  app.post(
    "/v1/tasks/:id(.*)::retry",
    { onRequest, ...retryOperation },
    async ({ params: { id }, query, headers }, reply) => {
      const { head, progress } = (await context.port.reads.task(id)) ?? {};
      const payload = await context.port.reads.body(id, "payload");
      if (head === undefined || payload === undefined)
        throw new Problem("not_found", `there is no task ${id}`);
      const state = progress?.state ?? "waiting";
      if (!["failed", "cancelled", "expired"].includes(state)) {
        throw new Problem("wrong_state", `task ${id} is ${state}; only one that ended badly is tried anew`);
      }
      const { attempts, failures, attemptTimeoutMs } = head.policy;
      const wishes = { priority: head.priority, attempts, failures, key: query.key };
      const submission = submissionOf(context, { queue: head.queue, payload, wishes, headers });
      const timed = attemptTimeoutMs > 0 ? { ...submission, attemptTimeoutMs } : submission;
      submit(context, timed, (submitted) => {
        if (submitted instanceof Problem) reply.send(submitted);
        else sendAccepted(context, reply, submitted);
      });
      return reply;
    },
  );
}

/**
 * Shows new tasks of a batch. Most are like the one before but for their id, which is what a task begins with: then the
 * rest is what it was.
 */
class LikeLast {
  readonly #show: (task: TaskJson) => string;
  #last: TaskJson | undefined;
  #rest = "";

  constructor(show: (task: TaskJson) => string) {
    this.#show = show;
  }

  show(task: TaskJson): string {
    if (this.#last !== undefined && isAlike(task, this.#last)) return `{"id":"${task.id}"${this.#rest}`;
    const text = this.#show(task);
    this.#rest = text.slice(`{"id":"${task.id}"`.length);
    this.#last = task;
    return text;
  }
}

/** Two tasks of one queue to which nothing has happened yet. */
function isAlike(one: TaskJson, other: TaskJson): boolean {
  return (
    one.payloadBytes === other.payloadBytes &&
    one.submittedAt === other.submittedAt &&
    one.priority === other.priority &&
    one.key === other.key &&
    one.contentType === other.contentType &&
    one.why?.code === other.why?.code &&
    one.why?.message === other.why?.message &&
    one.why?.until === other.why?.until
  );
}

interface Submitted {
  readonly id: TaskId;
  /** There had been one under its key. */
  readonly existing: boolean;
  /** The task as long as nothing has happened to it since; otherwise it has to be read. */
  readonly task: TaskJson | undefined;
}

/** Hands it in; `take` is told when it is committed, or why it is not. */
function submit(
  { port, exchange, problemOf }: HttpContext,
  submission: Submission,
  take: (submitted: Submitted | Problem) => void,
): void {
  const submittedAt = port.now().wall;
  exchange.askFor(
    (request) => ({ type: "task-submitted", request, submission }),
    (reply) => {
      if (reply.type === "refused") take(new Problem(reply.code, reply.message));
      else if (reply.type !== "accepted")
        take(problemOf(new Error(`a submission was answered with ${reply.type}`)));
      else {
        const { task: id, existing } = reply;
        const why = existing ? undefined : port.reads.why(id);
        const task = why && acceptedJson({ id, door: port.door, submission, submittedAt }, why);
        take({ id, existing, task });
      }
    },
  );
}

function sendAccepted(context: HttpContext, reply: FastifyReply, { id, existing, task }: Submitted): void {
  if (!existing) reply.code(201).header("Location", `/v1/tasks/${id}`);
  if (task === undefined) sendTask(context, reply, id);
  else reply.send(task);
}

function sendTask(context: HttpContext, reply: FastifyReply, id: TaskId): void {
  showTask(context, id).then(
    (task) => reply.send(task),
    (fault: unknown) => reply.send(fault),
  );
}

/** Puts a task as it is read, or why it cannot be. */
export function putTask(
  context: HttpContext,
  id: TaskId,
  show: (task: TaskJson) => string,
  put: PutAnswer,
): void {
  showTask(context, id).then(
    (task) => put(show(task)),
    (fault: unknown) => put(JSON.stringify(context.problemOf(fault))),
  );
}

export function sendBatch(reply: FastifyReply, answers: readonly string[]): FastifyReply {
  // Text that is JSON already: the schema has written its parts.
  const text = `{"items":[${answers.join(",")}]}`;
  if (!reply.request.raw.complete) reply.header("Connection", "close");
  return reply.type("application/json; charset=utf-8").serializer(String).send(text);
}

function sendWhenFinished(context: HttpContext, reply: FastifyReply, task: TaskId, forMs: number): void {
  const watched = context.exchange.ask((request) => ({ type: "task-watched", request, task, forMs }), {
    response: reply.raw,
    atClose: { type: "watched", task, finished: false },
  });
  watched.then(
    (answer) => {
      reply.code(answer.type === "watched" && answer.finished ? 200 : 202);
      sendTask(context, reply, task);
    },
    (fault: unknown) => reply.send(fault),
  );
}

const submitOperation = operation({
  id: "submitTask",
  tag: "tasks",
  summary: "Hand a task in",
  description: "The body is the payload, whatever it is; its Content-Type is kept with it.",
  path: queuePath,
  query: submitQuery,
  body: { is: "The payload", content: anyBytes },
  answers: {
    200: {
      is: "With `wait`: it is finished. With a `key` that was used before: that task",
      json: taskSchema,
    },
    201: { is: "Accepted and committed", json: taskSchema, headers: { Location: "Where the task is" } },
    202: { is: "Accepted and committed; the `wait` is over and it is not finished", json: taskSchema },
  },
  problems: ["key_conflict", "payload_too_large", "queue_full", "not_ready"],
});

const batchOperation = operation({
  id: "submitTasks",
  tag: "tasks",
  summary: "Hand many tasks in",
  description:
    "A JSON object a line (NDJSON), or a JSON array of them, read as it comes. Each is accepted or refused by itself: " +
    "the items of the answer are tasks or problems, in order. If the batch cannot be read to its end, its last item is " +
    "a problem that says from which line on.",
  path: queuePath,
  body: {
    is: "At most 10,000 items",
    content: {
      "application/x-ndjson": submissionSchema,
      "application/json": { type: "array", items: submissionSchema },
    },
  },
  answers: { 200: { is: "What became of each", content: { "application/json": batchAnswerSchema } } },
  problems: ["payload_too_large", "queue_full", "not_ready"],
  streamsBody: true,
});

const retryOperation = operation({
  id: "retryTask",
  tag: "tasks",
  summary: "Try a task anew that failed, expired or was cancelled",
  description:
    "A task has one outcome, for ever: so this hands in a new one with the same queue, payload, priority and tries. " +
    "Without a `key` each call makes another.",
  path: taskPath,
  query: retryQuery,
  answers: {
    200: { is: "With a `key` that was used before: that task", json: taskSchema },
    201: { is: "The new task", json: taskSchema, headers: { Location: "Where the new task is" } },
  },
  problems: ["not_found", "wrong_state", "key_conflict", "queue_full", "not_ready"],
});
