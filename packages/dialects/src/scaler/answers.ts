// What a worker's answer to a task says to the core [scaler 3.3].

import type { AttemptNumber, Body, TaskId, WorkerId, YardEvent } from "@yardmaster/core";
import { bodyOf } from "../body.js";
import { resultBody } from "./bodies.js";
import { none } from "./frames.js";
import type { TaskResult } from "./messages.js";
import type { ObjectExchange } from "./object-exchange.js";

/** A worker that takes nothing now is left in peace for a while. */
export const refusedHoldMs = 1_000;

/** The code of an attempt whose result nobody created, and the fault that is counted. */
export const missingResult = "missing_result";

/** What is answered: `payload` of a task that came in by another door. */
export interface AnsweredTask {
  readonly payload: Body | undefined;
  readonly isRevoked: boolean;
  readonly isRecalled: boolean;
  /** It was given out over an earlier connection, or by an earlier life: what came with its answer may be lost. */
  readonly isOfBefore: boolean;
}

export interface Claim {
  readonly worker: WorkerId;
  readonly task: TaskId;
  readonly attempt: AttemptNumber | undefined;
}

export function meaningOf(
  message: TaskResult,
  answered: AnsweredTask,
  claim: Claim,
  exchange: ObjectExchange,
): YardEvent {
  const isAskedFor = answered.isRevoked || answered.isRecalled;
  switch (message.status) {
    case "S":
    case "F":
      return resulted(message, answered, claim, exchange);
    case "C":
      if (answered.isRevoked) return { type: "attempt-returned", reason: "undelivered", ...claim };
      if (answered.isRecalled) return { type: "attempt-returned", reason: "balance", ...claim };
      return { type: "attempt-lost", reason: "reported", ...claim };
    case "N":
      if (isAskedFor) return { type: "attempt-returned", reason: "undelivered", ...claim };
      return { type: "attempt-lost", reason: "forgotten", ...claim };
    case "W":
      return { type: "attempt-returned", reason: "busy", holdMs: refusedHoldMs, ...claim };
    default:
      return { type: "attempt-lost", reason: "reported", ...claim };
  }
}

function resulted(
  { status, metadata, results }: TaskResult,
  { payload, isOfBefore }: AnsweredTask,
  claim: Claim,
  exchange: ObjectExchange,
): YardEvent {
  const [id] = results;
  // [scaler 2.3] A client cannot take any other number.
  if (id === undefined || results.length > 1)
    return failed(claim, "bad_result", "The worker named no result, or more than one.");
  const refused = exchange.whyRefused(id);
  if (refused !== undefined) return failed(claim, "object_limit", `The result ${refused}`);
  const object = exchange.objects.get(id);
  if (object?.isThere !== true) {
    // [scaler 2.3] A client that is told of it would wait for it in vain.
    if (isOfBefore) return { type: "attempt-lost", reason: "reported", ...claim };
    const message = "The worker named a result that it had not created: OI comes before TR.";
    return failed(claim, missingResult, message);
  }
  const bytes = object.bytes ?? none;
  const result = payload === undefined ? resultBody({ id, metadata }, bytes) : bodyOf(bytes);
  const { worker, task, attempt } = claim;
  if (status === "S") return { type: "attempt-done", worker, task, attempt, result };
  const error = { code: "failed", message: "The worker reported a failure; what it left is the result." };
  return { type: "attempt-failed", error, result, ...claim };
}

function failed(claim: Claim, code: string, message: string): YardEvent {
  return { type: "attempt-failed", error: { code, message }, ...claim };
}
