// Routes that submit tasks: one, or many at once.

import type { IncomingMessage } from "node:http";
import type { Outcome, Submission, TaskId } from "@yardmaster/core";
import type { FastifyReply } from "fastify";
import type { Principal } from "../access/principal.js";
import { withPastOutcomes } from "../door-kit/past-outcomes.js";
import { answerBatch, bytesOf, type PutAnswer, readItem } from "./batch.js";
import { submissionSchema } from "./body-schemas.js";
import { bodyOf, chargeMoreTasks, type HttpContext, refuseNewTasks, showTask } from "./context.js";
import { minimalJson, sendMinimal, sendOutcome, wantsMinimal } from "./minimal.js";
import { anyBytes, operation } from "./operation.js";
import { queuePath, submitItem, submitQuery, viewQuery } from "./parameters.js";
import { plainSubmission } from "./plain-items.js";
import { Problem } from "./problems.js";
import { batchAnswerSchema, taskSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";
import { submissionOf } from "./submission.js";
import { acceptedJson, type TaskJson } from "./task-json.js";

export function addSubmitRoutes(app: HttpServer, context: HttpContext): void {
  const onRequest = refuseNewTasks(context);
  const bodyLimit = context.payloadBytesMax;

  app.post("/v1/queues/:queue/tasks", { bodyLimit, onRequest, ...submitOperation }, (request, reply) => {
    const { params, query, headers, ip, login } = request;
    const asked = { queue: params.queue, payload: bodyOf(request), options: query, headers, ip, login };
    // Without a promise, because most requests take this path.
    const isMinimal = wantsMinimal(request);
    const submission = submissionOf(context, asked);
    const reader = login.principal;
    if (query.wait !== undefined)
      return submitAndWait(context, reply, submission, { forMs: query.wait, isMinimal, reader });
    submit(
      context,
      submission,
      isMinimal,
      (submitted) => {
        if (submitted instanceof Problem) reply.send(submitted);
        else sendAccepted(context, reply, submitted, isMinimal);
      },
      reader,
    );
  });

  app.post(
    "/v1/queues/:queue/tasks::batch",
    { bodyLimit, onRequest, ...batchOperation },
    async (request, reply) => {
      const { params, headers, ip, login, body } = request;
      if (body === undefined) return sendBatch(reply, []);
      const isMinimal = wantsMinimal(request);
      const show = reply.compileSerializationSchema(taskSchema) as (task: TaskJson) => string;
      let items = 0;
      const repeatedTask = new RepeatedTaskJson(show);
      const answers = await answerBatch(body as IncomingMessage, {
        bodies: context.bodies,
        bytesMax: bodyLimit,
        problemOf: context.problemOf,
        take(item, put) {
          const { payload, payloadBase64, contentType, ...options } = readItem(
            item,
            submitItem,
            plainSubmission,
          );
          if (payload !== undefined && payloadBase64 !== undefined)
            throw new Problem("bad_request", `line ${item.line}: payload or payloadBase64, not both`);
          const bytes = bytesOf(payload, payloadBase64, contentType);
          const asked = { queue: params.queue, payload: bytes, options, headers, ip, login };
          items += 1;
          if (items > 1) chargeMoreTasks(login, 1);
          submit(
            context,
            submissionOf(context, asked),
            isMinimal,
            (submitted) => {
              if (submitted instanceof Problem) put(JSON.stringify(submitted));
              else if (isMinimal) put(minimalJson(submitted.id, submitted.existing));
              else if (submitted.task === undefined) putTask(context, submitted.id, show, put);
              else put(repeatedTask.show(submitted.task));
            },
            login.principal,
          );
        },
      });
      return sendBatch(reply, answers);
    },
  );
}

/**
 * Serialises new tasks of a batch. Most differ from the previous one only in their id, which comes
 * first, so the rest is reused.
 */
class RepeatedTaskJson {
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

/** Two new tasks of one queue. */
function isAlike(one: TaskJson, other: TaskJson): boolean {
  return (
    one.payloadBytes === other.payloadBytes &&
    one.submittedAt === other.submittedAt &&
    one.priority === other.priority &&
    one.key === other.key &&
    one.group === other.group &&
    one.contentType === other.contentType &&
    one.lossesMax === other.lossesMax &&
    one.failuresMax === other.failuresMax &&
    one.why?.code === other.why?.code &&
    one.why?.message === other.why?.message &&
    one.why?.until === other.why?.until
  );
}

export interface AcceptedTask {
  readonly id: TaskId;
  /** The key existed already. */
  readonly existing: boolean;
  /** The task, if nothing has happened to it since; otherwise it must be read. */
  readonly task: TaskJson | undefined;
}

/**
 * Submits the task. `take` is called when it is committed, or with the reason why it is not. With
 * `isMinimal` the task itself is not needed. `reader` must be able to read the dependencies.
 */
export function submit(
  context: HttpContext,
  submission: Submission,
  isMinimal: boolean,
  take: TakeSubmitted,
  reader?: Principal,
): void {
  const { after } = submission;
  if (after === undefined) post(context, submission, isMinimal, take);
  else {
    refuseHidden(context, reader, after)
      .then(() =>
        withPastOutcomes(context.port.reads, after, (pastOutcomes) =>
          post(context, { ...submission, pastOutcomes }, isMinimal, take),
        ),
      )
      .catch((fault: unknown) => take(context.problemOf(fault)));
  }
}

/**
 * The story of a task tells how its dependencies ended, so they must be readable. One that is not
 * does not exist for the client.
 */
export async function refuseHidden(
  { port }: HttpContext,
  reader: Principal | undefined,
  after: Iterable<TaskId>,
): Promise<void> {
  if (reader === undefined || reader.rights.mayForAll("read")) return;
  for (const id of after) {
    const task = await port.reads.task(id);
    // One that is not there may be committed a moment later, in a queue that is hidden.
    if (task === undefined || !reader.may("read", task.head.queue)) {
      const detail = `There is no task ${id}: it never existed, or retention has evicted it.`;
      throw new Problem("unknown_dependency", detail);
    }
  }
}

type TakeSubmitted = (submitted: AcceptedTask | Problem) => void;

function post(
  { port, exchange, problemOf }: HttpContext,
  submission: Submission,
  isMinimal: boolean,
  take: TakeSubmitted,
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
        const isOrdinary = submission.after === undefined && submission.retryOf === undefined;
        const why = existing || isMinimal || !isOrdinary ? undefined : port.reads.why(id);
        const policy = why && port.reads.policyOf(id);
        const task = policy && acceptedJson({ id, policy, door: port.door, submission, submittedAt }, why);
        take({ id, existing, task });
      }
    },
  );
}

export function sendAccepted(
  context: HttpContext,
  reply: FastifyReply,
  { id, existing, task }: AcceptedTask,
  isMinimal: boolean,
): void {
  if (!existing) reply.code(201).header("Location", `/v1/tasks/${id}`);
  if (isMinimal) sendMinimal(reply, id, existing);
  else if (task === undefined) sendTask(context, reply, id);
  else reply.send(task);
}

export function sendTask(context: HttpContext, reply: FastifyReply, id: TaskId): void {
  showTask(context, id).then(
    (task) => reply.send(task),
    (fault: unknown) => reply.send(fault),
  );
}

/** Puts a task as it is stored, or the reason why it cannot be read. */
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
  // Already JSON text: the schema serialised the parts.
  const text = `{"items":[${answers.join(",")}]}`;
  if (!reply.request.raw.complete) reply.header("Connection", "close");
  return reply.type("application/json; charset=utf-8").serializer(String).send(text);
}

/**
 * Resolves when the task has ended, or the time is over. `outcome` is there if it ended meanwhile.
 */
export async function whenFinished(
  { exchange }: HttpContext,
  reply: FastifyReply,
  task: TaskId,
  forMs: number,
): Promise<{ readonly finished: boolean; readonly outcome?: Outcome }> {
  const answer = await exchange.ask((request) => ({ type: "task-watched", request, task, forMs }), {
    response: reply.raw,
    atClose: { type: "watched", task, finished: false },
  });
  return answer.type === "watched" ? answer : { finished: false };
}

/** Answers when the task has ended, or the time is over. */
function submitAndWait(
  context: HttpContext,
  reply: FastifyReply,
  submission: Submission,
  {
    forMs,
    isMinimal,
    reader,
  }: { readonly forMs: number; readonly isMinimal: boolean; readonly reader: Principal },
): void {
  const post = (whole: Submission) =>
    context.exchange
      .askWatched((request) => ({ type: "task-submitted", request, submission: whole }), forMs, reply.raw)
      .then(
        ({ task, finished, outcome }) => {
          reply.code(finished ? 200 : 202);
          if (!isMinimal || outcome === undefined || !sendOutcome(reply, task, outcome))
            sendTask(context, reply, task);
        },
        (fault: unknown) => reply.send(context.problemOf(fault)),
      );
  const { after } = submission;
  if (after === undefined) void post(submission);
  else {
    refuseHidden(context, reader, after)
      .then(() =>
        withPastOutcomes(
          context.port.reads,
          after,
          (pastOutcomes) => void post({ ...submission, pastOutcomes }),
        ),
      )
      .catch((fault: unknown) => reply.send(context.problemOf(fault)));
  }
}

const submitOperation = operation({
  id: "submitTask",
  tag: "tasks",
  summary: "Submit a task",
  description: "The body is the payload, of any kind. Its Content-Type is kept with it.",
  path: queuePath,
  query: submitQuery,
  body: { is: "The payload", content: anyBytes },
  answers: {
    200: {
      is: "With `wait`: the task is finished. With a `key` that was used before: that task",
      json: taskSchema,
      orMinimal: true,
    },
    201: {
      is: "Accepted and committed",
      json: taskSchema,
      orMinimal: true,
      headers: { Location: "Where the task is" },
    },
    202: { is: "Accepted and committed; the `wait` is over and the task is not finished", json: taskSchema },
  },
  problems: ["key_conflict", "unknown_dependency", "payload_too_large", "queue_full", "not_ready"],
});

const batchOperation = operation({
  id: "submitTasks",
  tag: "tasks",
  summary: "Submit many tasks",
  description:
    "One JSON object per line (NDJSON), or a JSON array of them, processed as it arrives. Each is accepted or refused " +
    "separately: the items of the answer are tasks or problems, in order. If the batch cannot be read to its end, the " +
    "last item is a problem that names the line.",
  path: queuePath,
  query: viewQuery,
  body: {
    is: "At most 10,000 items",
    content: {
      "application/x-ndjson": submissionSchema,
      "application/json": { type: "array", items: submissionSchema },
    },
  },
  answers: {
    200: { is: "A task or a problem for each item", content: { "application/json": batchAnswerSchema } },
  },
  problems: ["payload_too_large", "queue_full", "not_ready"],
  streamsBody: true,
});
