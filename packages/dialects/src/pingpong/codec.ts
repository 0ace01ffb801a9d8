// Frames to messages and back, for both ends. Frames are those after the peer's identity, which a ROUTER keeps.

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

/** A real envelope has one or two; beyond this somebody is making them up. */
const correlationFramesMax = 16;

const readyMessage: Reading<WorkerMessage> = { ok: true, message: { type: "ready" } };
const pingMessage: Reading<WorkerMessage> = { ok: true, message: { type: "ping" } };
const pongMessage: Reading<BrokerMessage> = { ok: true, message: { type: "pong" } };
const noFrames: readonly Buffer[] = [];
const noDelimiter = { ok: false, fault: "no_delimiter" } as const;
const noContent = { ok: false, fault: "no_content" } as const;

export function readFromWorker(frames: readonly Buffer[]): Reading<WorkerMessage> {
  const [delimiter, first] = frames;
  if (delimiter === undefined || delimiter.length > 0) return noDelimiter;
  if (first === undefined) return noContent;
  if (frames.length === 2) {
    // [pingpong 2.5] A result that equals a control word is one: control words win.
    if (first.equals(ping)) return pingMessage;
    if (first.equals(ready)) return readyMessage;
    if (first.equals(disconnect)) return { ok: true, message: { type: "disconnect", parts: [first] } };
  }
  // [pingpong 3.2] ["", "JOB COMPLETE", client, "", result…] is a result from any worker.
  const isProgramForm = frames.length >= 5 && first.equals(jobComplete) && frames[3]?.length === 0;
  return { ok: true, message: { type: "result", parts: frames.slice(isProgramForm ? 4 : 1) } };
}

export function writeToWorker(message: BrokerMessage, form: PingpongForm, client: Buffer = empty): Buffer[] {
  if (message.type === "pong") return [empty, pong];
  // [pingpong 3.1] The client's identity is no business of the worker's; it only has to come back.
  return form === "document" ? [empty, ...message.parts] : [empty, ...message.parts, client, empty, empty];
}

/** [pingpong 2.6] A worker would take it for a PONG. */
export function canBeGiven(parts: readonly Buffer[], form: PingpongForm): boolean {
  return form === "program" || parts.length !== 1 || parts[0]?.equals(pong) !== true;
}

export function readFromClient(frames: readonly Buffer[]): Reading<ClientRequest> {
  const delimiter = frames.findIndex((frame) => frame.length === 0);
  if (delimiter < 0) return noDelimiter;
  if (delimiter > correlationFramesMax) return { ok: false, fault: "too_many_correlation_frames" };
  if (delimiter === frames.length - 1) return noContent;
  const correlation = delimiter === 0 ? noFrames : frames.slice(0, delimiter);
  return { ok: true, message: { correlation, parts: frames.slice(delimiter + 1) } };
}

export function writeToClient(answer: ClientAnswer): Buffer[] {
  if (answer.type === "result") return [...answer.correlation, empty, ...answer.parts];
  return [...answer.correlation, empty, error, Buffer.from(answer.code), Buffer.from(answer.message)];
}

// The other ends.

export function readFromBroker(frames: readonly Buffer[]): Reading<BrokerMessage> {
  const [delimiter, first] = frames;
  if (delimiter === undefined || delimiter.length > 0) return noDelimiter;
  if (first === undefined) return noContent;
  if (frames.length === 2 && first.equals(pong)) return pongMessage;
  return { ok: true, message: { type: "job", parts: frames.slice(1) } };
}

export function writeFromWorker(message: WorkerMessage): Buffer[] {
  switch (message.type) {
    case "ready":
      return [empty, ready];
    case "ping":
      return [empty, ping];
    case "disconnect":
      return [empty, disconnect];
    default:
      return [empty, ...message.parts];
  }
}

export function writeFromClient({ correlation, parts }: ClientRequest): Buffer[] {
  return [...correlation, empty, ...parts];
}

export function readFromBrokerToClient(frames: readonly Buffer[]): Reading<ClientAnswer> {
  const reading = readFromClient(frames);
  if (!reading.ok) return reading;
  const { correlation, parts } = reading.message;
  const [first, code, message] = parts;
  if (parts.length === 3 && first?.equals(error) && code !== undefined && message !== undefined) {
    return {
      ok: true,
      message: { type: "error", correlation, code: code.toString(), message: message.toString() },
    };
  }
  return { ok: true, message: { type: "result", correlation, parts } };
}
