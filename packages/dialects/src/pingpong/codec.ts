// Reads and writes messages, for both ends. Frames start after the peer's identity, which the
// ROUTER removes. The broker's readers take a view, because it reads every message.

import type { Body } from "@yardmaster/core";
import { bytesOf } from "../body.js";
import { bodyOfFrames, partsMediaType, partsOf, partsOfArray } from "../parts.js";
import { WireFrames } from "../wire-frames.js";
import type {
  BrokerMessage,
  ClientAnswer,
  ClientRequest,
  PingpongForm,
  Reading,
  WorkerMessage,
} from "./messages.js";

const empty = Buffer.alloc(0);
const ready = Buffer.from("READY");
const ping = Buffer.from("PING");
const pong = Buffer.from("PONG");
const disconnect = Buffer.from("DISCONNECT");
const jobComplete = Buffer.from("JOB COMPLETE");
const error = Buffer.from("ERROR");

/** [pingpong 4.3] Room for the identities of 16 brokers on the way, each of the maximum length. */
const correlationFramesMax = 16;
const correlationBytesMax = 4096;

const readyMessage: Reading<WorkerMessage> = { ok: true, message: { type: "ready" } };
const pingMessage: Reading<WorkerMessage> = { ok: true, message: { type: "ping" } };
const pongMessage: Reading<BrokerMessage> = { ok: true, message: { type: "pong" } };
const noFrames: readonly Buffer[] = [];
const noDelimiter = { ok: false, fault: "no_delimiter" } as const;
const noContent = { ok: false, fault: "no_content" } as const;
const correlationTooLarge = { ok: false, fault: "correlation_too_large" } as const;

export function readFromWorker(frames: WireFrames): Reading<WorkerMessage> {
  const { count } = frames;
  if (count === 0 || frames.lengthOf(0) > 0) return noDelimiter;
  if (count === 1) return noContent;
  if (count === 2) {
    // [pingpong 2.5] A result that equals a control word is read as that word.
    if (frames.is(1, ping)) return pingMessage;
    if (frames.is(1, ready)) return readyMessage;
    if (frames.is(1, disconnect))
      return { ok: true, message: { type: "disconnect", result: bodyOfFrames(frames, 1) } };
  }
  if (!isCompletion(frames))
    return { ok: true, message: { type: "result", result: bodyOfFrames(frames, 1) } };
  const client = frames.keep(2);
  return { ok: true, message: { type: "result", result: bodyOfFrames(frames, 4), client } };
}

/**
 * [pingpong 3.2] ["", "JOB COMPLETE", client, "", result…] is a result in program form, from any
 * worker.
 */
function isCompletion(frames: WireFrames): boolean {
  return frames.count >= 5 && frames.is(1, jobComplete) && frames.lengthOf(3) === 0;
}

export function writeToWorker(message: BrokerMessage): Buffer[] {
  if (message.type === "pong") return [empty, pong];
  const { parts, client } = message;
  if (client === undefined)
    return parts.length === 1 ? [empty, parts[0] as Buffer] : [empty, ...written(parts)];
  return [empty, ...written(parts), client, empty, empty];
}

/** [pingpong 2.6] False if a worker would take it for a PONG. */
export function canBeGiven(payload: Body): boolean {
  if (payload.size > pongBytesMax) return true;
  const parts = partsOf(payload);
  return parts.length !== 1 || parts[0]?.equals(pong) !== true;
}

/** PONG as the only part of an array, with the longest heads. */
const pongBytesMax = 5 + 5 + pong.length;

export function readFromClient(frames: WireFrames): Reading<ClientRequest> {
  const delimiter = delimiterOf(frames);
  if (delimiter === frames.count) return noDelimiter;
  if (delimiter === frames.count - 1) return noContent;
  if (isTooLarge(frames, delimiter)) return correlationTooLarge;
  const correlation = delimiter === 0 ? noFrames : correlationIn(frames, delimiter);
  return { ok: true, message: { correlation, payload: bodyOfFrames(frames, delimiter + 1) } };
}

function delimiterOf(frames: WireFrames): number {
  let at = 0;
  while (at < frames.count && frames.lengthOf(at) > 0) at += 1;
  return at;
}

function isTooLarge(frames: WireFrames, delimiter: number): boolean {
  let bytes = 0;
  for (let frame = 0; frame < delimiter; frame++) bytes += frames.lengthOf(frame);
  return delimiter > correlationFramesMax || bytes > correlationBytesMax;
}

function correlationIn(frames: WireFrames, delimiter: number): Buffer[] {
  return Array.from({ length: delimiter }, (_, frame) => frames.keep(frame));
}

export function writeToClient(answer: ClientAnswer): Buffer[] {
  if (answer.type === "result") {
    const { correlation, parts } = answer;
    // The common case: spreading two lists costs more than everything else here.
    if (correlation.length === 0 && parts.length === 1) return [empty, parts[0] as Buffer];
    return [...correlation, empty, ...written(parts)];
  }
  return [...answer.correlation, empty, error, Buffer.from(answer.code), Buffer.from(answer.message)];
}

// The worker's and the client's end.

export function readFromBroker(
  frames: readonly Buffer[],
  form: PingpongForm = "document",
): Reading<BrokerMessage> {
  const [delimiter, first] = frames;
  if (delimiter === undefined || delimiter.length > 0) return noDelimiter;
  if (first === undefined) return noContent;
  if (frames.length === 2 && first.equals(pong)) return pongMessage;
  const isProgramForm =
    form === "program" && frames.length >= 5 && frames.at(-1)?.length === 0 && frames.at(-2)?.length === 0;
  const client = isProgramForm ? frames.at(-3) : undefined;
  if (client === undefined) return { ok: true, message: { type: "job", parts: frames.slice(1) } };
  return { ok: true, message: { type: "job", parts: frames.slice(1, -3), client } };
}

export function writeFromWorker(message: WorkerMessage): Buffer[] {
  switch (message.type) {
    case "ready":
      return [empty, ready];
    case "ping":
      return [empty, ping];
    case "disconnect":
      return [empty, disconnect];
    default: {
      const frames = [empty, ...contentOf(message.result)];
      const { client } = message;
      if (client === undefined && !isMistakable(WireFrames.of(frames))) return frames;
      return [empty, jobComplete, client ?? empty, ...frames];
    }
  }
}

/** [pingpong 2.5] True if it would be read as something else. In program form it cannot be. */
function isMistakable(frames: WireFrames): boolean {
  if (frames.count > 2) return isCompletion(frames);
  return frames.is(1, ping) || frames.is(1, ready) || frames.is(1, disconnect);
}

export function writeFromClient({ correlation, payload }: ClientRequest): Buffer[] {
  return [...correlation, empty, ...contentOf(payload)];
}

export function readFromBrokerToClient(frames: readonly Buffer[]): Reading<ClientAnswer> {
  const view = WireFrames.of(frames);
  const delimiter = delimiterOf(view);
  if (delimiter === frames.length) return noDelimiter;
  if (delimiter === frames.length - 1) return noContent;
  if (isTooLarge(view, delimiter)) return correlationTooLarge;
  const correlation = frames.slice(0, delimiter);
  const parts = frames.slice(delimiter + 1);
  const [first, code, message] = parts;
  if (parts.length === 3 && first?.equals(error) && code !== undefined && message !== undefined) {
    return {
      ok: true,
      message: { type: "error", correlation, code: code.toString(), message: message.toString() },
    };
  }
  return { ok: true, message: { type: "result", correlation, parts } };
}

/** The frames of a body, however many. */
function contentOf(body: Body): readonly Buffer[] {
  const bytes = bytesOf(body);
  return written((body.mediaType === partsMediaType ? partsOfArray(bytes) : undefined) ?? [bytes]);
}

/** [pingpong 2.8] A job or result has at least one frame, so no parts become one empty frame. */
function written(parts: readonly Buffer[]): readonly Buffer[] {
  return parts.length === 0 ? [empty] : parts;
}
