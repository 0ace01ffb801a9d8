// Many reports of workers in one request: a line for each attempt that is done, failed, returned,
// or still running.

import type { IncomingMessage } from "node:http";
import { type AttemptNumber, later, type TaskError } from "@yardmaster/core";
import type * as z from "zod";
import { batchOperation } from "./attempt-operations.js";
import { type AttemptReport, postReport, reporterOf, streamReporter } from "./attempt-reports.js";
import { answerBatch, bytesOf, type PutAnswer, readItem } from "./batch.js";
import { given, type HttpContext } from "./context.js";
import { endingItem, type failure } from "./ending-form.js";
import { minimalJson, wantsMinimal } from "./minimal.js";
import { plainEnding } from "./plain-items.js";
import { Problem } from "./problems.js";
import { reportIn } from "./reports.js";
import { taskSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";
import { putTask, sendBatch } from "./submit-routes.js";
import { type TaskJson, timeJson } from "./task-json.js";

export function addAttemptBatchRoute(app: HttpServer, context: HttpContext): void {
  app.post(
    "/v1/attempts::batch",
    { bodyLimit: context.payloadBytesMax, ...batchOperation },
    async (request, reply) => {
      const { body, ip, headers, login } = request;
      if (body === undefined) return sendBatch(reply, []);
      const isMinimal = wantsMinimal(request);
      const show = reply.compileSerializationSchema(taskSchema) as (task: TaskJson) => string;
      const stream = streamReporter(context, request);
      const answers = await answerBatch(body as IncomingMessage, {
        bodies: context.bodies,
        bytesMax: context.payloadBytesMax,
        problemOf: context.problemOf,
        take(item, put) {
          const { task, attempt, token, ...said } = readItem(item, endingItem, plainEnding);
          const reporter =
            token === undefined && stream !== undefined
              ? stream
              : reporterOf(context, token ?? headers["yard-token"], { task, attempt, ip, login });
          const held = { worker: reporter.worker, task, attempt: attempt as AttemptNumber };
          const report = reportOf(said, reporter.holder.leaseMs, item.line);
          postReport(context, held, report, (answer) => {
            if (answer instanceof Problem) put(JSON.stringify(answer));
            else if (answer.type === "beat") putBeat(context, held.task, answer, put);
            else if (isMinimal) put(minimalJson(task));
            else putTask(context, task, show, put);
          });
        },
      });
      return sendBatch(reply, answers);
    },
  );
}

function putBeat(
  { port }: HttpContext,
  task: number,
  { cancel, leaseMs }: { readonly cancel: boolean; readonly leaseMs: number },
  put: PutAnswer,
): void {
  const leaseUntil = leaseMs === 0 ? null : timeJson(later(port.now().wall, leaseMs));
  put(JSON.stringify({ id: String(task), cancel, leaseUntil }));
}

function reportOf(said: ReportItem, leaseMs: number, line: number): AttemptReport {
  const { result, resultBase64, contentType, error, return: isReturn, beat, progress, message } = said;
  const fields = [result, resultBase64, error, isReturn, beat].filter((one) => one !== undefined);
  if (fields.length > 1)
    throw new Problem(
      "bad_request",
      `line ${line}: give only one of result, resultBase64, error, return and beat`,
    );
  if (beat !== undefined) return { type: "beat", leaseMs, progress: reportIn({ progress, message }) };
  if (progress !== undefined || message !== undefined)
    throw new Problem("bad_request", `line ${line}: progress and message need beat`);
  if (isReturn !== undefined) return { type: "returned" };
  if (error !== undefined) return { type: "failed", error: taskError(error) };
  return { type: "done", result: bytesOf(result, resultBase64, contentType) };
}

export function taskError(error: z.output<typeof failure>): TaskError {
  return { code: "failed", ...given(error), message: error.message };
}

type ReportItem = Omit<z.output<typeof endingItem>, "task" | "attempt" | "token">;
