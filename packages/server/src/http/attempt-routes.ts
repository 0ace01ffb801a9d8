// Routes for http workers: claim attempts, send heartbeats while they run, and report how they
// ended.

import { type AttemptNumber, later, type TaskError, type WorkerId } from "@yardmaster/core";
import type { FastifyReply, FastifyRequest } from "fastify";
import type * as z from "zod";
import { addAttemptBatchRoute, taskError } from "./attempt-batch.js";
import {
  beatOperation,
  claimOperation,
  doneOperation,
  failOperation,
  returnOperation,
} from "./attempt-operations.js";
import { type AttemptReport, type HeldAttempt, postReport, reporterOf } from "./attempt-reports.js";
import type { Holder } from "./attempt-token.js";
import { sendAttempts } from "./claim-answer.js";
import { bodyOf, type HttpContext, refuseWhenStopping } from "./context.js";
import { failure } from "./ending-form.js";
import type { Reply } from "./exchange.js";
import { sendMinimal, wantsMinimal } from "./minimal.js";
import type { attemptPath } from "./parameters.js";
import { Problem } from "./problems.js";
import { reportOf } from "./reports.js";
import { queueFault } from "./route-rights.js";
import type { HttpServer } from "./server.js";
import { sendTask } from "./submit-routes.js";
import { timeJson } from "./task-json.js";
import { workerNameOf } from "./worker-names.js";

export function addAttemptRoutes(app: HttpServer, context: HttpContext): void {
  const { roster } = context;

  app.post(
    "/v1/queues/:queue(.*)::claim",
    { onRequest: refuseWhenStopping(context), ...claimOperation },
    async ({ params: { queue }, query, ip, headers, login }, reply) => {
      const name = workerNameOf(login, query.worker);
      if (roster.hasStream(name))
        throw new Problem("wrong_state", `${query.worker} works over a stream; claim under another name`);
      const holder: Holder = { name, leaseMs: query.lease };
      const worker = roster.heard({ name, address: ip, waitMs: query.wait });
      const claimRequest = { worker, queue, max: query.max, forMs: query.wait, leaseMs: query.lease };
      const attempts = await claim(context, claimRequest, reply);
      if (attempts.length === 0) return reply.code(204).send();
      // A reload may have taken the right away while the claim waited.
      const fault = queueFault(login.principal, "work", queue);
      if (fault !== undefined) {
        for (const attempt of attempts) context.exchange.giveBack(attempt);
        throw fault;
      }
      roster.heard({ ...holder, address: ip });
      const wantsRaw = query.max === 1 && headers.accept?.includes("application/octet-stream") === true;
      return sendAttempts(context, reply, { attempts, holder, form: wantsRaw ? "raw" : "json" });
    },
  );

  app.post("/v1/tasks/:id/attempts/:n(.*)::beat", beatOperation, (request, reply) => {
    const { held, holder } = heldAttempt(context, request, request.params);
    const leaseMs = request.query.lease ?? holder.leaseMs;
    const report = reportOf(request.body);
    postReport(context, held, { type: "beat", leaseMs, progress: report }, (answer) => {
      if (answer instanceof Problem) reply.send(answer);
      else if (answer.type === "beat") reply.send(beatJson(context, answer));
      else reply.send(context.problemOf(new Error(`a beat was answered with ${answer.type}`)));
    });
  });

  app.post(
    "/v1/tasks/:id/attempts/:n(.*)::done",
    { bodyLimit: context.payloadBytesMax, ...doneOperation },
    (request, reply) => {
      const { held } = heldAttempt(context, request, request.params);
      end(context, held, { type: "done", result: bodyOf(request) }, reply);
    },
  );

  app.post("/v1/tasks/:id/attempts/:n(.*)::fail", failOperation, (request, reply) => {
    const { held } = heldAttempt(context, request, request.params);
    end(context, held, { type: "failed", error: errorOf(request.body) }, reply);
  });

  app.post("/v1/tasks/:id/attempts/:n(.*)::return", returnOperation, (request, reply) => {
    const { held } = heldAttempt(context, request, request.params);
    end(context, held, { type: "returned" }, reply);
  });

  addAttemptBatchRoute(app, context);
}

/** Reports the end of an attempt and answers with the task. */
function end(context: HttpContext, held: HeldAttempt, report: AttemptReport, reply: FastifyReply): void {
  postReport(context, held, report, (answer) => {
    if (answer instanceof Problem) reply.send(answer);
    else if (wantsMinimal(reply.request)) sendMinimal(reply, held.task);
    else sendTask(context, reply, held.task);
  });
}

function beatJson({ port }: HttpContext, { cancel, leaseMs }: Extract<Reply, { type: "beat" }>) {
  return { cancel, leaseUntil: leaseMs === 0 ? null : timeJson(later(port.now().wall, leaseMs)) };
}

interface ClaimRequest {
  readonly worker: WorkerId;
  readonly queue: string;
  readonly max: number;
  readonly forMs: number;
  readonly leaseMs: number;
}

async function claim({ exchange }: HttpContext, claimRequest: ClaimRequest, reply: FastifyReply) {
  try {
    const answer = await exchange.ask((request) => ({ type: "work-claimed", request, ...claimRequest }), {
      response: reply.raw,
      atClose: { type: "no-work" },
    });
    return answer.type === "assigned" ? answer.attempts : [];
  } catch (fault) {
    // The worker joined just before. If the yard does not know it, the yard had no room for it.
    if (!(fault instanceof Problem) || fault.code !== "not_found") throw fault;
    throw new Problem("queue_full", "there are too many workers", { cause: fault });
  }
}

/** The attempt that the request is about, if its token is valid for it. */
function heldAttempt(
  context: HttpContext,
  { headers, ip, login }: Pick<FastifyRequest, "headers" | "ip" | "login">,
  { id: task, n }: z.output<typeof attemptPath>,
): { readonly held: HeldAttempt; readonly holder: Holder } {
  const { worker, holder } = reporterOf(context, headers["yard-token"], { task, attempt: n, ip, login });
  return { held: { worker, task, attempt: n as AttemptNumber }, holder };
}

function errorOf(body: unknown): TaskError {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.isBuffer(body) ? body.toString() : "");
  } catch (cause) {
    throw new Problem("bad_request", "the body is not JSON; expected {code?, message, detail?}", { cause });
  }
  const parsed = failure.safeParse(value);
  if (!parsed.success) throw new Problem("bad_request", `expected ${parsed.error.issues[0]?.message}`);
  return taskError(parsed.data);
}
