// Work over http: a worker claims attempts, beats while it is at them, and says how they ended.

import { type AttemptNumber, later, type TaskError, type TaskId, type WorkerId } from "@yardmaster/core";
import type { FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import type { Holder } from "./attempt-token.js";
import { sendAttempts } from "./claim-answer.js";
import { bodyOf, given, type HttpContext, refuseWhenStopping, showTask, stillReadable } from "./context.js";
import { attemptPath, beatQuery, claimQuery, noQuery, queuePath } from "./parameters.js";
import { Problem } from "./problems.js";
import type { HttpServer } from "./server.js";
import { taskSchema, timeJson } from "./task-json.js";

export function addAttemptRoutes(app: HttpServer, context: HttpContext): void {
  const { port, exchange, roster } = context;

  app.post(
    "/v1/queues/:queue(.*)::claim",
    { onRequest: refuseWhenStopping(context), schema: { params: queuePath, querystring: claimQuery } },
    async ({ params: { queue }, query, ip, headers }, reply) => {
      const holder: Holder = { name: query.worker, leaseMs: query.lease };
      const worker = roster.heard({ ...holder, address: ip, waitMs: query.wait });
      const wish = { worker, queue, max: query.max, forMs: query.wait, leaseMs: query.lease };
      const attempts = await claim(context, wish, reply);
      if (attempts.length === 0) return reply.code(204).send();
      const wantsRaw = query.max === 1 && headers.accept?.includes("application/octet-stream") === true;
      return sendAttempts(context, reply, { attempts, holder, form: wantsRaw ? "raw" : "json" });
    },
  );

  const attemptSchema = { params: attemptPath, querystring: noQuery, response: { 200: taskSchema } };

  app.post(
    "/v1/tasks/:id/attempts/:n(.*)::beat",
    { schema: { params: attemptPath, querystring: beatQuery } },
    async (request) => {
      const { holder, ...held } = heldAttempt(context, request, request.params);
      const leaseMs = request.query.lease ?? holder.leaseMs;
      const answer = await exchange
        .ask((number) => ({ type: "attempt-beat", request: number, ...held, leaseMs }))
        .catch((fault) => stillReadable(context, held.task, fault, "stale_attempt"));
      if (answer.type !== "beat") throw new Error(`a beat was answered with ${answer.type}`);
      const until = answer.leaseMs === 0 ? null : timeJson(later(port.now().wall, answer.leaseMs));
      return { cancel: answer.cancel, leaseUntil: until };
    },
  );

  app.post(
    "/v1/tasks/:id/attempts/:n(.*)::done",
    { bodyLimit: context.payloadBytesMax, schema: attemptSchema },
    async (request) => {
      const { holder: _, ...held } = heldAttempt(context, request, request.params);
      const result = bodyOf(request);
      await exchange
        .ask((number) => ({ type: "attempt-done", request: number, ...held, result }))
        .catch((fault) => refuseUnlessSaidBefore(context, held, fault));
      return showTask(context, held.task);
    },
  );

  app.post("/v1/tasks/:id/attempts/:n(.*)::fail", { schema: attemptSchema }, async (request) => {
    const { holder: _, ...held } = heldAttempt(context, request, request.params);
    const error = errorOf(request.body);
    await exchange
      .ask((number) => ({ type: "attempt-failed", request: number, ...held, error }))
      .catch((fault) => stillReadable(context, held.task, fault, "stale_attempt"));
    return showTask(context, held.task);
  });
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

/** A worker that did not hear our answer says it again: the same attempt with the same outcome is no fault. */
async function refuseUnlessSaidBefore(
  context: HttpContext,
  held: HeldAttempt,
  fault: unknown,
): Promise<void> {
  const stored = (await context.port.reads.task(held.task))?.progress;
  const isSame = stored?.state === "done" && stored.attempt === held.attempt && stored.worker === held.worker;
  if (!isSame) await stillReadable(context, held.task, fault, "stale_attempt");
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
