// A worker's reports on an attempt it holds: a beat, an outcome, or a return. A refusal by the core
// is not always final: a worker that did not receive our answer repeats its report.

import {
  type AttemptNumber,
  type Body,
  defaultLimits,
  storyOf,
  type TaskError,
  type TaskId,
  type TaskReport,
  type WorkerId,
  type YardEvent,
} from "@yardmaster/core";
import type { FastifyRequest } from "fastify";
import type { Holder } from "./attempt-token.js";
import { asBuffer, type HttpContext, stillReadable } from "./context.js";
import type { Reply } from "./exchange.js";
import { Problem } from "./problems.js";
import { mayHaveName } from "./worker-names.js";

export interface HeldAttempt {
  readonly worker: WorkerId;
  readonly task: TaskId;
  readonly attempt: AttemptNumber;
}

export type AttemptReport =
  | { readonly type: "done"; readonly result: Body }
  | { readonly type: "failed"; readonly error: TaskError }
  | { readonly type: "returned" }
  | {
      readonly type: "beat";
      readonly leaseMs: number;
      readonly progress?: Omit<TaskReport, "at"> | undefined;
    };

/** The worker that a token belongs to. Using the token counts as a sign of life. */
export interface Reporter {
  readonly worker: WorkerId;
  readonly holder: Holder;
}

interface Reported {
  readonly task: TaskId;
  readonly attempt: number;
}

/** The worker of a stream, whose token is valid for all lines of the request. */
export function streamReporter(
  { tokens, roster }: HttpContext,
  { headers, ip, login }: Pick<FastifyRequest, "headers" | "ip" | "login">,
): Reporter | undefined {
  const token = headers["yard-token"];
  const holder = typeof token === "string" ? tokens.workerOf(token) : undefined;
  if (holder === undefined || !mayHaveName(login, holder.name)) return undefined;
  return { worker: roster.heard({ ...holder, address: ip }), holder };
}

/** The worker that reports on this attempt, if its token is valid and belongs to this login. */
export function reporterOf(
  { tokens, roster }: HttpContext,
  token: unknown,
  { task, attempt, ip, login }: Reported & Pick<FastifyRequest, "ip" | "login">,
): Reporter {
  const holder = typeof token === "string" ? tokens.holderOf(token, task, attempt) : undefined;
  if (holder === undefined || !mayHaveName(login, holder.name))
    throw new Problem("unauthorized", "Yard-Token is missing, or is not the one of this attempt");
  return { worker: roster.heard({ ...holder, address: ip }), holder };
}

/**
 * Posts the report. `take` receives the answer or the problem. Creates no promise in the ordinary
 * case.
 */
export function postReport(
  context: HttpContext,
  held: HeldAttempt,
  report: AttemptReport,
  take: (answer: Exclude<Reply, { type: "refused" }> | Problem) => void,
): void {
  if (report.type === "beat") context.streams.reported(held);
  else context.streams.answered(held.worker, held.attempt);
  context.exchange.askFor(
    (request) => eventOf(request, held, report),
    (reply) => {
      if (reply.type !== "refused") take(reply);
      else
        acceptIfRepeated(context, held, report, new Problem(reply.code, reply.message)).then(
          () => take({ type: "granted", task: held.task }),
          (fault: unknown) => take(context.problemOf(fault)),
        );
    },
  );
}

function eventOf(request: number, { worker, task, attempt }: HeldAttempt, report: AttemptReport): YardEvent {
  switch (report.type) {
    case "done":
      return { type: "attempt-done", request, worker, task, attempt, result: report.result };
    case "failed":
      return { type: "attempt-failed", request, worker, task, attempt, error: report.error };
    case "returned":
      return { type: "attempt-returned", request, worker, task, attempt, reason: "stopping" };
    case "beat":
      return {
        type: "attempt-beat",
        request,
        worker,
        task,
        attempt,
        leaseMs: report.leaseMs,
        ...(report.progress && { report: report.progress }),
      };
    default:
      return report satisfies never;
  }
}

/**
 * Resolves if the refused report only repeats an earlier one; otherwise rejects with the problem.
 */
async function acceptIfRepeated(
  context: HttpContext,
  held: HeldAttempt,
  report: AttemptReport,
  fault: Problem,
): Promise<void> {
  if (report.type === "done") return refuseUnlessRepeated(context, held, report.result, fault);
  if (report.type === "beat" || !(await isInStory(context, held, causeOf(report))))
    await stillReadable(context, held.task, fault, "stale_attempt");
}

/**
 * A worker that did not receive our answer repeats its report. The same attempt with the same
 * result is accepted.
 */
async function refuseUnlessRepeated(
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

function causeOf(report: Extract<AttemptReport, { type: "failed" | "returned" }>): string {
  if (report.type === "returned") return "returned: stopping";
  return `failed: ${report.error.message.slice(0, defaultLimits.messageLength)}`;
}

/** True if the task's story says that this attempt ended so. */
async function isInStory(
  { port }: HttpContext,
  { task, attempt, worker }: HeldAttempt,
  cause: string,
): Promise<boolean> {
  const stored = await port.reads.task(task);
  if (stored === undefined) return false;
  const { head, progress } = stored;
  return storyOf(head, progress).some((entry) => {
    const said = entry.cause === "failed" ? `failed: ${progress?.error?.message}` : entry.cause;
    return entry.attempt === attempt && entry.worker === worker && said === cause;
  });
}

/** True if the task's result has these bytes. Only a repeated report costs this read. */
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
