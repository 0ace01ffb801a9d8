// Conversion between monique's messages and tasks. A question becomes a payload (its data) and an
// envelope (everything around it), so that both frames can be reassembled byte for byte. An outcome
// becomes an answer in the client's form.

import { createHash } from "node:crypto";
import type { Body, Outcome, Submission, TaskHead, TaskId, WallTime } from "@yardmaster/core";
import { bodyOf, bytesMediaType, bytesOf, isJson, jsonMediaType } from "../body.js";
import { hashId, type ReadMessage, writeMessage } from "./codec.js";
import type { MoniqueContent } from "./content.js";
import { errorCodes, type MessageType, type MoniqueForm, type MoniqueMessage, ownSpecs } from "./messages.js";
import { PackReader } from "./msgpack.js";

export type Frames = readonly [tag: Buffer, content: Buffer];

/** Our name as creator in messages of our own. */
export const yardCreator = "yardmaster";

export const msgpackMediaType = "application/msgpack";

const noBytes = Buffer.alloc(0);

/**
 * The data of a message as a body. If the content cannot be read, the whole content [monique 2.4].
 */
export function bodyIn(content: MoniqueContent | undefined, frame: Buffer): Body {
  if (content === undefined) return bodyOf(frame);
  return bodyOf(frame.subarray(content.dataStart, content.dataEnd), mediaTypeOf(content.encoding));
}

/** [monique 7.2] */
export function mediaTypeOf(encoding: string): string {
  if (encoding === "JSON") return jsonMediaType;
  return encoding === "MessagePack" ? msgpackMediaType : bytesMediaType;
}

/** [monique 7.2] An unspecified type is taken to be that of the question. */
function encodingOf(mediaType: string, otherwise: string): string {
  if (isJson(mediaType)) return "JSON";
  if (/^application\/(?:x-|vnd\.)?msgpack\s*(?:;|$)/i.test(mediaType)) return "MessagePack";
  return otherwise === "" ? "JSON" : otherwise;
}

/** [monique 1.6] The form to answer in. If the content cannot be read, only the tag shows it. */
export function formOf({ content, isTagWrapped }: ReadMessage): MoniqueForm {
  return content?.form ?? (isTagWrapped ? "d1" : "d3");
}

/** [monique 4.2] A question as a task. Its key is its id: the same id is the same question. */
export function submissionFor(message: ReadMessage, [tag, frame]: Frames, client: string): Submission {
  const { header, content } = message;
  const { spec, id } = header;
  const payload = bodyIn(content, frame);
  const form = formOf(message);
  const before = content === undefined ? noBytes : frame.subarray(0, content.dataStart);
  const after = content === undefined ? noBytes : frame.subarray(content.dataEnd);
  const expiresAt = content?.expiresAt ?? 0;
  return {
    queue: spec,
    payload,
    key: keyOf(id),
    // [monique 4.3] In the older forms, two questions of one millisecond have the same id.
    ...(form === "d3" ? {} : { fingerprint: createHash("sha1").update(bytesOf(payload)).digest("base64") }),
    replyTo: { address: id, diesWithConnection: false },
    isAskedOnce: true,
    envelope: envelopeOf({ form, encoding: content?.encoding ?? "", client }, tag, before, after),
    ...(expiresAt === 0 ? {} : { expiresAt: expiresAt as WallTime }),
  };
}

/** Kept apart from the keys that clients of other doors choose for the same queue. */
export function keyOf(id: string): string {
  return `monique:${id}`;
}

interface Around {
  readonly form: MoniqueForm;
  readonly encoding: string;
  /** [monique 4.9] Empty if it is not known. */
  readonly client: string;
}

interface Envelope extends Around {
  readonly frames: readonly [tag: Buffer, before: Buffer, after: Buffer] | undefined;
}

/**
 * Longer than either of the document's two encodings, and short enough to be kept with every task.
 */
const encodingBytesMax = 64;
/**
 * Layout: the form's digit, the lengths of the encoding (1 byte), the tag (2) and the part before
 * the data (4), then these parts. If the digit's highest bit is set, the client's name, with its
 * length in 1 byte, comes before the tag.
 */
const envelopeHeadBytes = 8;
const hasClient = 0x80;
const clientBytesMax = 255;

/** One allocation, because every question needs one. */
function envelopeOf({ form, encoding, client }: Around, tag: Buffer, before: Buffer, after: Buffer): Buffer {
  const encodingBytes = Math.min(Buffer.byteLength(encoding), encodingBytesMax);
  const clientBytes = Math.min(Buffer.byteLength(client), clientBytesMax);
  const clientAt = envelopeHeadBytes + encodingBytes;
  const tagAt = clientAt + 1 + clientBytes;
  const beforeAt = tagAt + tag.length;
  const afterAt = beforeAt + before.length;
  const envelope = Buffer.allocUnsafe(afterAt + after.length);
  envelope[0] = form.charCodeAt(1) | hasClient;
  envelope[1] = encodingBytes;
  envelope.writeUInt16BE(tag.length, 2);
  envelope.writeUInt32BE(before.length, 4);
  envelope.write(encoding, envelopeHeadBytes, encodingBytes);
  envelope[clientAt] = clientBytes;
  envelope.write(client, clientAt + 1, clientBytes);
  envelope.set(tag, tagAt);
  envelope.set(before, beforeAt);
  envelope.set(after, afterAt);
  return envelope;
}

function openEnvelope({ envelope }: TaskHead, form: MoniqueForm): Envelope {
  if (envelope === undefined || envelope.length < envelopeHeadBytes)
    return { form, encoding: "", client: "", frames: undefined };
  const bytes = Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length);
  const digit = bytes[0] as number;
  const encodingEnd = envelopeHeadBytes + (bytes[1] as number);
  const clientAt = encodingEnd + 1;
  const tagAt = (digit & hasClient) === 0 ? encodingEnd : clientAt + (bytes[encodingEnd] as number);
  const beforeAt = tagAt + bytes.readUInt16BE(2);
  const afterAt = beforeAt + bytes.readUInt32BE(4);
  const encoding = bytes.toString("utf8", envelopeHeadBytes, encodingEnd);
  const client = bytes.toString("utf8", clientAt, tagAt);
  const asked = `d${String.fromCharCode(digit & ~hasClient)}` as MoniqueForm;
  const frames = [
    bytes.subarray(tagAt, beforeAt),
    bytes.subarray(beforeAt, afterAt),
    bytes.subarray(afterAt),
  ] as const;
  return { form: asked, encoding, client, frames };
}

/** [monique 4.9] Identifies the asking client's subscribers; empty if there is none. */
export function clientOf(task: TaskHead): string {
  return openEnvelope(task, "d3").client;
}

/**
 * [monique 4.5] A question as a worker gets it: in its original bytes or, for a task of another
 * door, written by us.
 */
export function questionFor(
  task: TaskHead,
  door: string,
  bridged: () => MoniqueMessage,
  form: MoniqueForm,
): Frames {
  const { frames } = task.door === door ? openEnvelope(task, form) : { frames: undefined };
  if (frames === undefined) return writeMessage(bridged(), form);
  const [tag, before, after] = frames;
  return [tag, Buffer.concat([before, bytesOf(task.payload), after])];
}

/**
 * [monique 7.1] A task of another door as a question. `createdAt` must not have been used before
 * for this spec.
 */
export function bridgedQuestion(task: TaskHead, form: MoniqueForm, createdAt: number): MoniqueMessage {
  const { payload, queue: spec } = task;
  const about = { creator: yardCreator, createdAt, spec };
  return {
    ...about,
    type: "config",
    id: form === "d3" ? bridgedId(task) : hashId(about),
    pid: "",
    expiresAt: Math.floor(task.expiresAt),
    encoding: encodingOf(payload.mediaType, "JSON"),
    data: bytesOf(payload),
  };
}

/**
 * [monique 7.1] 40 letters and digits that encode the task, so that its answer can be matched even
 * after a restart.
 */
function bridgedId({ id, submittedAt }: TaskHead): string {
  return yardCreator + stampOf(submittedAt) + String(id).padStart(17, "0");
}

function stampOf(submittedAt: WallTime): string {
  return String(Math.floor(submittedAt)).padStart(13, "0").slice(-13);
}

/** The task that one of our own ids encodes. */
export function bridgedTaskIn(id: string): TaskId | undefined {
  const [, task] = /^yardmaster\d{13}(\d{17})$/.exec(id) ?? [];
  const number = Number(task ?? 0);
  return Number.isSafeInteger(number) && number > 0 ? (number as TaskId) : undefined;
}

export function isBridgedAs(task: TaskHead, id: string): boolean {
  return bridgedId(task) === id;
}

/** [monique 4.8] The outcome of a question, in the form in which it was asked. */
export function answerFor(task: TaskHead, outcome: Outcome, createdAt: number, form: MoniqueForm): Frames {
  const envelope = openEnvelope(task, form);
  const pid = task.replyTo?.address ?? "";
  const { state, result, error } = outcome;
  if (state === "done") {
    const encoding = encodingOf(result?.mediaType ?? "", envelope.encoding);
    return ownMessage(
      "result",
      { spec: task.queue, pid, encoding, data: bytesOf(result) },
      createdAt,
      envelope.form,
    );
  }
  // [monique 6.4] The form in which the program answers a kill.
  const isKilled = state === "cancelled";
  const code = isKilled ? errorCodes.killed : codeOf(error?.code);
  const message = isKilled && error?.message.includes(killer) ? killedMessage : (error?.message ?? state);
  const spec = isKilled ? ownSpecs.error : task.queue;
  return errorMessage({ spec, pid, code, message }, createdAt, envelope.form);
}

/** Named as the one who cancelled when a kill is received. */
export const killer = "a monique kill";
export const killedMessage = "task killed";

/** A worker's own code. Every code of ours counts as a component's failure. */
function codeOf(code: string | undefined): number {
  return code !== undefined && /^[1-9]\d{2}$/.test(code) ? Number(code) : errorCodes.component;
}

export interface OwnError {
  readonly spec: string;
  readonly pid: string;
  readonly code: number;
  readonly message: string;
}

export function errorMessage(
  { spec, pid, code, message }: OwnError,
  createdAt: number,
  form: MoniqueForm,
): Frames {
  const data = Buffer.from(JSON.stringify({ code, message }));
  return ownMessage("error", { spec, pid, encoding: "JSON", data }, createdAt, form);
}

/** [monique 6.4] Tells listeners on the technical channel that this task is no longer needed. */
export function killMessage(taskId: string, createdAt: number, form: MoniqueForm): Frames {
  const data = Buffer.from(JSON.stringify({ task_id: taskId }));
  return ownMessage("config", { spec: ownSpecs.kill, pid: "", encoding: "JSON", data }, createdAt, form);
}

type OwnFields = Pick<MoniqueMessage, "spec" | "pid" | "encoding" | "data">;

function ownMessage(type: MessageType, fields: OwnFields, createdAt: number, form: MoniqueForm): Frames {
  const about = { creator: yardCreator, createdAt, spec: fields.spec };
  // 40 characters of the newest form's alphabet.
  const named = `${type}:${fields.pid}:${createdAt}:${fields.spec}`;
  const id = form === "d3" ? createHash("sha1").update(named).digest("hex") : hashId(about);
  return writeMessage({ ...fields, ...about, type, id, expiresAt: 0 }, form);
}

/** A longer error is not parsed. */
const errorBytesMax = 64 * 1024;

/**
 * [monique 3.7] `{"code": int, "message": str}` in either encoding. Anything else is still an
 * error.
 */
export function errorIn(
  content: MoniqueContent | undefined,
  frame: Buffer,
): { code: string; message: string } {
  const unknown = { code: String(errorCodes.component), message: "The worker answered with an error." };
  if (content === undefined) return unknown;
  const data = frame.subarray(content.dataStart, content.dataEnd);
  if (data.length > errorBytesMax) return unknown;
  const { code, message } =
    (content.encoding === "MessagePack" ? readPacked(data) : undefined) ?? readJson(data) ?? {};
  return {
    code: typeof code === "number" && Number.isInteger(code) ? String(code) : unknown.code,
    message: typeof message === "string" ? message : unknown.message,
  };
}

/** A JSON object; undefined for anything else. */
export function readJson(data: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(data.toString()) as unknown;
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The texts and integers of a MessagePack map. */
function readPacked(data: Buffer): Readonly<Record<string, unknown>> | undefined {
  const reader = new PackReader(data);
  const entries = reader.readMapHead();
  if (entries === undefined) return undefined;
  const found: Record<string, unknown> = Object.create(null);
  for (let entry = 0; entry < entries; entry += 1) {
    if (!reader.readText()) return undefined;
    const key = data.toString("utf8", reader.start, reader.end);
    const number = reader.readInteger();
    if (number !== undefined) found[key] = number;
    else if (reader.readText()) found[key] = data.toString("utf8", reader.start, reader.end);
    else if (!reader.skip()) return undefined;
  }
  return found;
}
