// Clients as the broker sees them: a request becomes a submission, and an outcome or refusal
// becomes an answer.

import type { Outcome, ReplyTo, Submission, TaskHead } from "@yardmaster/core";
import { bodyOf, bytesOf } from "../body.js";
import { bodyOfParts, partsMediaType, partsOf } from "../parts.js";
import { canBeGiven } from "./codec.js";
import type { ClientAnswer, ClientRequest } from "./messages.js";

const noFrames: readonly Buffer[] = [];

/** [pingpong 4.4] Refuses a job that no worker could be given, with the reason. */
export function refuseRequest(request: ClientRequest): ClientAnswer | undefined {
  if (canBeGiven(request.payload)) return undefined;
  const message = "A job that consists only of PONG would be taken for the broker's PONG.";
  return { type: "error", correlation: request.correlation, code: "does_not_fit", message };
}

/** All tasks of a client share `replyTo`. Correlation frames are kept beside it. */
export function submissionFor(
  request: ClientRequest,
  queue: string,
  replyTo: ReplyTo,
  by?: string,
): Submission {
  const { correlation, payload } = request;
  // Spelled out: a spread copy costs as much as the rest of the door's part.
  if (correlation.length > 0) return { queue, payload, replyTo, by, envelope: envelopeOf(correlation) };
  return by === undefined ? { queue, payload, replyTo } : { queue, payload, replyTo, by };
}

export function answerFor(task: TaskHead, outcome: Outcome): ClientAnswer {
  const correlation = correlationOf(task.envelope);
  if (outcome.state === "done") return { type: "result", correlation, parts: partsOf(outcome.result) };
  const { code, message } = outcome.error ?? {
    code: outcome.state,
    message: `The task ended ${outcome.state}.`,
  };
  return { type: "error", correlation, code, message };
}

export function refusalFor(submission: Submission, code: string, message: string): ClientAnswer {
  return { type: "error", correlation: correlationOf(submission.envelope), code, message };
}

/** Always an array, so that one correlation frame differs from none. */
function envelopeOf(correlation: readonly Buffer[]): Uint8Array {
  return bytesOf(bodyOfParts([...correlation, terminator]));
}

function correlationOf(envelope: Uint8Array | undefined): readonly Buffer[] {
  if (envelope === undefined) return noFrames;
  const bytes = Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length);
  return partsOf(bodyOf(bytes, partsMediaType)).slice(0, -1);
}

/** An empty last part, because two parts or more are always written as an array. */
const terminator = Buffer.alloc(0);
