// Translates a worker's answer about a task into an event for the core [scaler 3.3].

import type { AttemptNumber, Body, TaskId, WorkerId, YardEvent } from "@yardmaster/core";
import { bodyOf } from "../body.js";
import { resultBody } from "./bodies.js";
import type { ObjectExchange } from "./object-exchange.js";
import type { PackedResult } from "./packed-messages.js";
import type { ScalerObject } from "./scaler-object.js";

/** After a worker refuses a task, it gets no new one for this time, in milliseconds. */
export const refusedHoldMs = 1_000;

/**
 * Error code when a worker reports a result object that was never created; also the name of the
 * counted fault.
 */
export const missingResult = "missing_result";

/** The task that a worker answered. `payload` is set only for a task that another door accepted. */
export interface AnsweredTask {
  readonly payload: Body | undefined;
  readonly isRevoked: boolean;
  readonly isRecalled: boolean;
  /**
   * True when the task was sent over an earlier connection or before a restart. Its result object
   * may be lost.
   */
  readonly isOfBefore: boolean;
}

export interface AttemptRef {
  readonly worker: WorkerId;
  readonly task: TaskId;
  readonly attempt: AttemptNumber | undefined;
}

/** `object`: the one that the message names as its first result, if it is known. */
export function meaningOf(
  message: PackedResult,
  object: ScalerObject | undefined,
  answered: AnsweredTask,
  ref: AttemptRef,
  exchange: ObjectExchange,
): YardEvent {
  const isAskedFor = answered.isRevoked || answered.isRecalled;
  switch (message.status) {
    case "S":
    case "F":
      return resulted(message, object, answered, ref, exchange);
    case "C":
      if (answered.isRevoked) return { type: "attempt-returned", reason: "undelivered", ...ref };
      if (answered.isRecalled) return { type: "attempt-returned", reason: "balance", ...ref };
      return { type: "attempt-lost", reason: "reported", ...ref };
    case "N":
      if (isAskedFor) return { type: "attempt-returned", reason: "undelivered", ...ref };
      return { type: "attempt-lost", reason: "forgotten", ...ref };
    case "W":
      return { type: "attempt-returned", reason: "busy", holdMs: refusedHoldMs, ...ref };
    default:
      return { type: "attempt-lost", reason: "reported", ...ref };
  }
}

function resulted(
  message: PackedResult,
  object: ScalerObject | undefined,
  { payload, isOfBefore }: AnsweredTask,
  ref: AttemptRef,
  exchange: ObjectExchange,
): YardEvent {
  // [scaler 2.3] Clients accept only one result.
  if (!message.hasOneResult)
    return failed(ref, "bad_result", "The worker named no result, or more than one.");
  const refused = exchange.hasRefused ? exchange.whyRefused(message.results[0] as Buffer) : undefined;
  if (refused !== undefined) return failed(ref, "object_limit", `The result ${refused}`);
  if (object?.isThere !== true) {
    // [scaler 2.3] A client that was told of this result would wait forever for an object that is
    // lost.
    if (isOfBefore) return { type: "attempt-lost", reason: "reported", ...ref };
    return failed(
      ref,
      missingResult,
      "The worker named a result that it had not created: OI comes before TR.",
    );
  }
  const { bytes } = object;
  // The engine could not read it back, for which the task is not to blame: it runs again.
  if (bytes === undefined) return { type: "attempt-lost", reason: "reported", ...ref };
  const result = payload === undefined ? resultBody(message, bytes) : bodyOf(bytes);
  const { worker, task, attempt } = ref;
  if (message.status === "S") return { type: "attempt-done", worker, task, attempt, result };
  const error = { code: "failed", message: "The worker reported a failure; what it left is the result." };
  return { type: "attempt-failed", error, result, ...ref };
}

function failed(ref: AttemptRef, code: string, message: string): YardEvent {
  return { type: "attempt-failed", error: { code, message }, ...ref };
}
