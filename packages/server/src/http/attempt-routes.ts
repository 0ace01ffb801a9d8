// Work over http: a worker claims attempts, beats while it is at them, and says how they ended.

import type { IncomingMessage } from "node:http";
import {
  type AttemptNumber,
  type Body,
  later,
  type TaskError,
  type TaskId,
  type WorkerId,
} from "@yardmaster/core";
import type { FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import {
  batchOperation,
  beatOperation,
  claimOperation,
  doneOperation,
  failOperation,
  returnOperation,
} from "./attempt-operations.js";
import type { Holder } from "./attempt-token.js";
import { answerBatch, bytesOf, readItem } from "./batch.js";
import { sendAttempts } from "./claim-answer.js";
import {
  asBuffer,
  bodyOf,
  given,
  type HttpContext,
  refuseWhenStopping,
  showTask,
  stillReadable,
} from "./context.js";
import { type attemptPath, base64, mediaType, taskPath } from "./parameters.js";
import { Problem } from "./problems.js";
import { taskSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";
import { putTask, sendBatch } from "./submit-routes.js";
import { type TaskJson, timeJson } from "./task-json.js";

export function addAttemptRoutes(app: HttpServer, context: HttpContext): void {
  const { port, exchange, roster } = context;

  app.post(
    "/v1/queues/:queue(.*)::claim",
    { onRequest: refuseWhenStopping(context), ...claimOperation },
    async ({ params: { queue }, query, ip, headers }, reply) => {
      const holder: Holder = { name: query.worker, leaseMs: query.lease };
      const worker = roster.heard({ name: query.worker, address: ip, waitMs: query.wait });
      const wish = { worker, queue, max: query.max, forMs: query.wait, leaseMs: query.lease };
      const attempts = await claim(context, wish, reply);
      if (attempts.length === 0) return reply.code(204).send();
      roster.heard({ ...holder, address: ip });
      const wantsRaw = query.max === 1 && headers.accept?.includes("application/octet-stream") === true;
      return sendAttempts(context, reply, { attempts, holder, form: wantsRaw ? "raw" : "json" });
    },
  );

  app.post("/v1/tasks/:id/attempts/:n(.*)::beat", beatOperation, async (request) => {
    const { holder, ...held } = heldAttempt(context, request, request.params);
    const leaseMs = request.query.lease ?? holder.leaseMs;
    const answer = await exchange
      .ask((number) => ({ type: "attempt-beat", request: number, ...held, leaseMs }))
      .catch((fault) => stillReadable(context, held.task, fault, "stale_attempt"));
    if (answer.type !== "beat") throw new Error(`a beat was answered with ${answer.type}`);
    const until = answer.leaseMs === 0 ? null : timeJson(later(port.now().wall, answer.leaseMs));
    return { cancel: answer.cancel, leaseUntil: until };
  });

  app.post(
    "/v1/tasks/:id/attempts/:n(.*)::done",
    { bodyLimit: context.payloadBytesMax, ...doneOperation },
    async (request) => {
      const { holder: _, ...held } = heldAttempt(context, request, request.params);
      await endAttempt(context, held, { result: bodyOf(request) });
      return showTask(context, held.task);
    },
  );

  app.post("/v1/tasks/:id/attempts/:n(.*)::fail", failOperation, async (request) => {
    const { holder: _, ...held } = heldAttempt(context, request, request.params);
    await endAttempt(context, held, { error: errorOf(request.body) });
    return showTask(context, held.task);
  });

  app.post("/v1/tasks/:id/attempts/:n(.*)::return", returnOperation, async (request) => {
    const { holder: _, ...held } = heldAttempt(context, request, request.params);
    await exchange
      .ask((number) => ({ type: "attempt-returned", request: number, ...held, reason: "stopping" }))
      .catch((fault) => stillReadable(context, held.task, fault, "stale_attempt"));
    return showTask(context, held.task);
  });

  app.post(
    "/v1/attempts::batch",
    { bodyLimit: context.payloadBytesMax, ...batchOperation },
    async ({ body, ip }, reply) => {
      if (body === undefined) return sendBatch(reply, []);
      const show = reply.compileSerializationSchema(taskSchema) as (task: TaskJson) => string;
      const answers = await answerBatch(body as IncomingMessage, {
        bodies: context.bodies,
        bytesMax: context.payloadBytesMax,
        problemOf: context.problemOf,
        take(item, put) {
          const { task, attempt, token, ...said } = readItem(item, endingItem);
          const { holder: _, ...held } = heldAttempt(
            context,
            { headers: { "yard-token": token }, ip },
            { id: task, n: attempt },
          );
          endAttempt(context, held, endingOf(said, item.line)).then(
            () => putTask(context, held.task, show, put),
            (fault: unknown) => put(JSON.stringify(context.problemOf(fault))),
          );
        },
      });
      return sendBatch(reply, answers);
    },
  );
}

type Ending = { readonly result: Body } | { readonly error: TaskError };

/** Says how an attempt ended; rejects with a problem when that does not count. */
async function endAttempt(context: HttpContext, held: HeldAttempt, ending: Ending): Promise<void> {
  const { exchange } = context;
  if ("result" in ending) {
    await exchange
      .ask((request) => ({ type: "attempt-done", request, ...held, result: ending.result }))
      .catch((fault) => refuseUnlessSaidBefore(context, held, ending.result, fault));
    return;
  }
  await exchange
    .ask((request) => ({ type: "attempt-failed", request, ...held, error: ending.error }))
    .catch((fault) => stillReadable(context, held.task, fault, "stale_attempt"));
}

function endingOf({ result, resultBase64, contentType, error }: Said, line: number): Ending {
  if ([result, resultBase64, error].filter((one) => one !== undefined).length > 1)
    throw new Problem("bad_request", `line ${line}: one of result, resultBase64 and error`);
  if (error !== undefined) return { error: { code: "failed", ...given(error), message: error.message } };
  return { result: bytesOf(result, resultBase64, contentType) };
}

interface Wish {
  readonly worker: WorkerId;
  readonly queue: string;
  readonly max: number;
  readonly forMs: number;
  readonly leaseMs: number;
}

async function claim({ exchange }: HttpContext, wish: Wish, reply: FastifyReply) {
  try {
    const answer = await exchange.ask((request) => ({ type: "work-wanted", request, ...wish }), {
      response: reply.raw,
      atClose: { type: "no-work" },
    });
    return answer.type === "assigned" ? answer.attempts : [];
  } catch (fault) {
    // The worker joined just before, so if the yard does not know it, it did not take it in.
    if (!(fault instanceof Problem) || fault.code !== "not_found") throw fault;
    throw new Problem("queue_full", "there are too many workers", { cause: fault });
  }
}

interface HeldAttempt {
  readonly worker: WorkerId;
  readonly task: TaskId;
  readonly attempt: AttemptNumber;
}

/** Which attempt the request speaks of, if its token allows it to. To speak of it is a sign of life. */
function heldAttempt(
  { tokens, roster }: HttpContext,
  { headers, ip }: Pick<FastifyRequest, "headers" | "ip">,
  { id, n }: z.output<typeof attemptPath>,
): HeldAttempt & { readonly holder: Holder } {
  const token = headers["yard-token"];
  const holder = typeof token === "string" ? tokens.holderOf(token, id, n) : undefined;
  if (!holder) throw new Problem("unauthorized", "Yard-Token is missing, or is not the one of this attempt");
  const worker = roster.heard({ ...holder, address: ip });
  return { worker, task: id, attempt: n as AttemptNumber, holder };
}

/** A worker that did not hear our answer says it again: the same attempt with the same result is no fault. */
async function refuseUnlessSaidBefore(
  context: HttpContext,
  held: HeldAttempt,
  result: Body,
  fault: unknown,
): Promise<void> {
  const stored = (await context.port.reads.task(held.task))?.progress;
  const isDone = stored?.state === "done" && stored.attempt === held.attempt && stored.worker === held.worker;
  if (!isDone) await stillReadable(context, held.task, fault, "stale_attempt");
  else if (!(await isStored(context, held.task, result, stored.result)))
    throw new Problem("stale_attempt", "this attempt ended with another result, which stands", {
      cause: fault,
    });
}

/** Whether a task's result has these bytes. Only a second answer pays for reading the first. */
async function isStored(
  { port, outgoing }: HttpContext,
  task: TaskId,
  { size, bytes }: Body,
  stored: Body | undefined,
): Promise<boolean> {
  if ((stored?.size ?? 0) !== size) return false;
  if (size === 0) return true;
  if (!outgoing.take(size)) throw outgoing.noRoom();
  try {
    const whole = stored?.bytes === undefined ? await port.reads.body(task, "result") : stored;
    return asBuffer(whole?.bytes).equals(asBuffer(bytes));
  } finally {
    outgoing.giveBack(size);
  }
}

/** Enough for a message with a stack trace; it is kept with the task. */
const messageLengthMax = 16_384;
const messageError = `message: text of 1 to ${messageLengthMax} characters`;
const codeError = "code: 1 to 64 of A-Z a-z 0-9 . _ -";

const failure = z.strictObject(
  {
    code: z
      .string({ error: codeError })
      .regex(/^[\w.-]{1,64}$/, { error: codeError })
      .optional(),
    message: z
      .string({ error: messageError })
      .min(1, { error: messageError })
      .max(messageLengthMax, { error: messageError }),
  },
  { error: "a JSON object {code?, message}" },
);

/** A line of a batch of ended attempts. */
const endingItem = z.strictObject(
  {
    task: taskPath.shape.id,
    attempt: z.number({ error: "an attempt's number" }).int({ error: "an attempt's number" }).positive(),
    token: z.string({ error: "the attempt's token" }),
    result: z.unknown().optional(),
    resultBase64: base64().optional(),
    contentType: mediaType().optional(),
    error: failure.optional(),
  },
  { error: (issue) => (issue.code === "unrecognized_keys" ? undefined : "a JSON object") },
);

type Said = Omit<z.output<typeof endingItem>, "task" | "attempt" | "token">;

function errorOf(body: unknown): TaskError {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.isBuffer(body) ? body.toString() : "");
  } catch (cause) {
    throw new Problem("bad_request", "the body is not JSON; expected {code?, message}", { cause });
  }
  const parsed = failure.safeParse(value);
  if (!parsed.success) throw new Problem("bad_request", `expected ${parsed.error.issues[0]?.message}`);
  return { code: "failed", ...given(parsed.data), message: parsed.data.message };
}
