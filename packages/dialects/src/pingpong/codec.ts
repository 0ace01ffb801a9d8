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

/** [pingpong 4.3] An identity for each of 16 brokers in between, each as long as one may be. */
const correlationFramesMax = 16;
const correlationBytesMax = 4096;

const readyMessage: Reading<WorkerMessage> = { ok: true, message: { type: "ready" } };
const pingMessage: Reading<WorkerMessage> = { ok: true, message: { type: "ping" } };
const pongMessage: Reading<BrokerMessage> = { ok: true, message: { type: "pong" } };
const noFrames: readonly Buffer[] = [];
const noDelimiter = { ok: false, fault: "no_delimiter" } as const;
const noContent = { ok: false, fault: "no_content" } as const;
const correlationTooLarge = { ok: false, fault: "correlation_too_large" } as const;

/** What is longer than every control word is none. */
const controlBytesMax = disconnect.length;
/** Of a frame that is empty and not the last, and of a last one of up to 255 bytes. */
const usualHeadBytes = 4;

/**
 * Where the content begins in a job or a result as nearly all are, ["", content], on the wire and with nothing made of
 * its frames; -1 for all else, which is to be read frame by frame.
 */
export function usualContent(bytes: Uint8Array, from: number, to: number): number {
  const at = from + usualHeadBytes;
  const isUsual =
    to - at > controlBytesMax &&
    bytes[from] === 1 &&
    bytes[from + 1] === 0 &&
    bytes[from + 2] === 0 &&
    bytes[from + 3] === to - at;
  return isUsual ? at : -1;
}

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
  const parts = frames.slice(1);
  const client = completedFor(parts);
  if (client === undefined) return { ok: true, message: { type: "result", parts } };
  return { ok: true, message: { type: "result", parts: parts.slice(3), client } };
}

/** [pingpong 3.2] ["JOB COMPLETE", client, "", result…] is a result in program form, from any worker. */
function completedFor(parts: readonly Buffer[]): Buffer | undefined {
  return parts.length >= 4 && parts[0]?.equals(jobComplete) && parts[2]?.length === 0 ? parts[1] : undefined;
}

export function writeToWorker(message: BrokerMessage): Buffer[] {
  if (message.type === "pong") return [empty, pong];
  const { parts, client } = message;
  if (client === undefined)
    return parts.length === 1 ? [empty, parts[0] as Buffer] : [empty, ...written(parts)];
  return [empty, ...written(parts), client, empty, empty];
}

/** [pingpong 2.6] A worker would take it for a PONG. */
export function canBeGiven(parts: readonly Buffer[]): boolean {
  return parts.length !== 1 || parts[0]?.equals(pong) !== true;
}

export function readFromClient(frames: readonly Buffer[]): Reading<ClientRequest> {
  const delimiter = frames.findIndex((frame) => frame.length === 0);
  if (delimiter < 0) return noDelimiter;
  if (delimiter === frames.length - 1) return noContent;
  if (delimiter === 0) return { ok: true, message: { correlation: noFrames, parts: frames.slice(1) } };
  const correlation = frames.slice(0, delimiter);
  const bytes = correlation.reduce((sum, frame) => sum + frame.length, 0);
  if (delimiter > correlationFramesMax || bytes > correlationBytesMax) return correlationTooLarge;
  return { ok: true, message: { correlation, parts: frames.slice(delimiter + 1) } };
}

export function writeToClient(answer: ClientAnswer): Buffer[] {
  if (answer.type === "result") {
    const { correlation, parts } = answer;
    // Nearly all of them; to spread two lists costs more than the rest of it.
    if (correlation.length === 0 && parts.length === 1) return [empty, parts[0] as Buffer];
    return [...correlation, empty, ...written(parts)];
  }
  return [...answer.correlation, empty, error, Buffer.from(answer.code), Buffer.from(answer.message)];
}

// The other ends.

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
      const parts = written(message.parts);
      const client = message.client ?? (isMistakable(parts) ? empty : undefined);
      return client === undefined ? [empty, ...parts] : [empty, jobComplete, client, empty, ...parts];
    }
  }
}

/** [pingpong 2.5] As it stands it would be read as something else; in program form it is what it is. */
function isMistakable(parts: readonly Buffer[]): boolean {
  const [first] = parts;
  if (parts.length > 1 || first === undefined) return completedFor(parts) !== undefined;
  return first.equals(ping) || first.equals(ready) || first.equals(disconnect);
}

export function writeFromClient({ correlation, parts }: ClientRequest): Buffer[] {
  return [...correlation, empty, ...written(parts)];
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

/** [pingpong 2.8] A job or a result has at least one frame: where there is nothing to say, an empty one. */
function written(parts: readonly Buffer[]): readonly Buffer[] {
  return parts.length === 0 ? [empty] : parts;
}
