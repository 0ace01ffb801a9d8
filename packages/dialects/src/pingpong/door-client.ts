// Clients as the broker sees them: a request becomes a submission, an outcome or a refusal becomes an answer in kind.

import type { Outcome, ReplyTo, Submission, TaskHead, YardEvent } from "@yardmaster/core";
import { bodyOf, bytesOf } from "../body.js";
import { bodyOfParts, partsMediaType, partsOf } from "../parts.js";
import { canBeGiven } from "./codec.js";
import type { ClientAnswer, ClientRequest } from "./messages.js";

const noFrames: readonly Buffer[] = [];

/** [pingpong 4.4] A job that no worker could be given, and why. */
export function refuseRequest(request: ClientRequest): ClientAnswer | undefined {
  if (canBeGiven(request.parts)) return undefined;
  const message = "A job that is just PONG cannot be told from the broker's own word.";
  return { type: "error", correlation: request.correlation, code: "does_not_fit", message };
}

/** `replyTo` is shared by a client's tasks; correlation frames are kept beside it. */
export function submissionFor(request: ClientRequest, queue: string, replyTo: ReplyTo): YardEvent {
  const { correlation, parts } = request;
  const payload = bodyOfParts(parts);
  const submission: Submission =
    correlation.length === 0
      ? { queue, payload, replyTo }
      : { queue, payload, replyTo, envelope: envelopeOf(correlation) };
  return { type: "task-submitted", submission };
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

/** Always an array, so that one correlation frame is told from none. */
function envelopeOf(correlation: readonly Buffer[]): Uint8Array {
  return bytesOf(bodyOfParts([...correlation, terminator]));
}

function correlationOf(envelope: Uint8Array | undefined): readonly Buffer[] {
  if (envelope === undefined) return noFrames;
  const bytes = Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length);
  return partsOf(bodyOf(bytes, partsMediaType)).slice(0, -1);
}

/** A last part of no bytes: two parts or more are always written as an array. */
const terminator = Buffer.alloc(0);
