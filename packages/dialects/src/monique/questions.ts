// Between monique's messages and tasks. A question becomes a payload (its data) and an envelope (everything around it),
// so that both frames can be put together again byte for byte; an outcome becomes an answer in the asker's form.

import { createHash } from "node:crypto";
import type { Body, Outcome, Submission, TaskHead, TaskId, WallTime } from "@yardmaster/core";
import { bodyOf, bytesMediaType, bytesOf, isJson, jsonMediaType } from "../body.js";
import { hashId, type ReadMessage, writeMessage } from "./codec.js";
import type { MoniqueContent } from "./content.js";
import { errorCodes, type MessageType, type MoniqueForm, type MoniqueMessage, ownSpecs } from "./messages.js";
import { PackReader } from "./msgpack.js";

export type Frames = readonly [tag: Buffer, content: Buffer];

/** Who we are in messages of our own. */
export const yardCreator = "yardmaster";

export const msgpackMediaType = "application/msgpack";

const noBytes = Buffer.alloc(0);

/** The data of a message as a body; of one that cannot be read, the content as it is [monique 2.4]. */
export function bodyIn(content: MoniqueContent | undefined, frame: Buffer): Body {
  if (content === undefined) return bodyOf(frame);
  return bodyOf(frame.subarray(content.dataStart, content.dataEnd), mediaTypeOf(content.encoding));
}

/** [monique 7.2] */
export function mediaTypeOf(encoding: string): string {
  if (encoding === "JSON") return jsonMediaType;
  return encoding === "MessagePack" ? msgpackMediaType : bytesMediaType;
}

/** [monique 7.2] What does not say is taken for what the question was. */
function encodingOf(mediaType: string, otherwise: string): string {
  if (isJson(mediaType)) return "JSON";
  if (/^application\/(?:x-|vnd\.)?msgpack\s*(?:;|$)/i.test(mediaType)) return "MessagePack";
  return otherwise === "" ? "JSON" : otherwise;
}

/** [monique 1.6] The form to answer in; of a content that cannot be read only the tag shows it. */
export function formOf({ content, isTagWrapped }: ReadMessage): MoniqueForm {
  return content?.form ?? (isTagWrapped ? "d1" : "d3");
}

/** [monique 4.2] A question as a task. Its key is its id: the same id is the same question. */
export function submissionFor(message: ReadMessage, [tag, frame]: Frames, asker: string): Submission {
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
    // [monique 4.3] Ids of the older forms are the same for two questions of one millisecond.
    ...(form === "d3" ? {} : { fingerprint: createHash("sha1").update(bytesOf(payload)).digest("base64") }),
    replyTo: { address: id, isFleeting: false },
    isAskedOnce: true,
    envelope: envelopeOf({ form, encoding: content?.encoding ?? "", asker }, tag, before, after),
    ...(expiresAt === 0 ? {} : { expiresAt: expiresAt as WallTime }),
  };
}

/** Apart from the keys that other doors' askers choose for the same queue. */
export function keyOf(id: string): string {
  return `monique:${id}`;
}

interface Around {
  readonly form: MoniqueForm;
  readonly encoding: string;
  /** [monique 4.9] Empty where it is not known. */
  readonly asker: string;
}

interface Envelope extends Around {
  readonly frames: readonly [tag: Buffer, before: Buffer, after: Buffer] | undefined;
}

/** Longer than the document's two words for it, short enough to be kept with every task. */
const encodingBytesMax = 64;
/**
 * Layout: the form's digit, the lengths of the encoding (1 byte), the tag (2) and the part before the data (4), then these
 * parts. If the digit's highest bit is set, the client's name, with its length in 1 byte, comes before the tag.
 */
const envelopeHeadBytes = 8;
const hasAsker = 0x80;
const askerBytesMax = 255;

/** One piece of memory: there is one for every question. */
function envelopeOf({ form, encoding, asker }: Around, tag: Buffer, before: Buffer, after: Buffer): Buffer {
  const encodingBytes = Math.min(Buffer.byteLength(encoding), encodingBytesMax);
  const askerBytes = Math.min(Buffer.byteLength(asker), askerBytesMax);
  const askerAt = envelopeHeadBytes + encodingBytes;
  const tagAt = askerAt + 1 + askerBytes;
  const beforeAt = tagAt + tag.length;
  const afterAt = beforeAt + before.length;
  const envelope = Buffer.allocUnsafe(afterAt + after.length);
  envelope[0] = form.charCodeAt(1) | hasAsker;
  envelope[1] = encodingBytes;
  envelope.writeUInt16BE(tag.length, 2);
  envelope.writeUInt32BE(before.length, 4);
  envelope.write(encoding, envelopeHeadBytes, encodingBytes);
  envelope[askerAt] = askerBytes;
  envelope.write(asker, askerAt + 1, askerBytes);
  envelope.set(tag, tagAt);
  envelope.set(before, beforeAt);
  envelope.set(after, afterAt);
  return envelope;
}

function openEnvelope({ envelope }: TaskHead, form: MoniqueForm): Envelope {
  if (envelope === undefined || envelope.length < envelopeHeadBytes)
    return { form, encoding: "", asker: "", frames: undefined };
  const bytes = Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length);
  const digit = bytes[0] as number;
  const encodingEnd = envelopeHeadBytes + (bytes[1] as number);
  const askerAt = encodingEnd + 1;
  const tagAt = (digit & hasAsker) === 0 ? encodingEnd : askerAt + (bytes[encodingEnd] as number);
  const beforeAt = tagAt + bytes.readUInt16BE(2);
  const afterAt = beforeAt + bytes.readUInt32BE(4);
  const encoding = bytes.toString("utf8", envelopeHeadBytes, encodingEnd);
  const asker = bytes.toString("utf8", askerAt, tagAt);
  const asked = `d${String.fromCharCode(digit & ~hasAsker)}` as MoniqueForm;
  const frames = [
    bytes.subarray(tagAt, beforeAt),
    bytes.subarray(beforeAt, afterAt),
    bytes.subarray(afterAt),
  ] as const;
  return { form: asked, encoding, asker, frames };
}

/** [monique 4.9] The name by which the subscribers of the client that asked are known; empty if there is none. */
export function askerOf(task: TaskHead): string {
  return openEnvelope(task, "d3").asker;
}

/** [monique 4.5] A question as a worker gets it: as it came, or, from another door, as one of ours. */
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

/** [monique 7.1] A task of another door as a question. `createdAt` is none that was used before for this spec. */
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

/** [monique 7.1] 40 letters and digits that say which task it is, so that its answer is known after a restart, too. */
function bridgedId({ id, submittedAt }: TaskHead): string {
  return yardCreator + stampOf(submittedAt) + String(id).padStart(17, "0");
}

function stampOf(submittedAt: WallTime): string {
  return String(Math.floor(submittedAt)).padStart(13, "0").slice(-13);
}

/** The task that an id of ours speaks of. */
export function bridgedTaskIn(id: string): TaskId | undefined {
  const [, task] = /^yardmaster\d{13}(\d{17})$/.exec(id) ?? [];
  const number = Number(task ?? 0);
  return Number.isSafeInteger(number) && number > 0 ? (number as TaskId) : undefined;
}

export function isBridgedAs(task: TaskHead, id: string): boolean {
  return bridgedId(task) === id;
}

/** [monique 4.8] How a question ended, in the form it was asked in. */
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
  // [monique 6.4] As the program answers a kill.
  const isKilled = state === "cancelled";
  const code = isKilled ? errorCodes.killed : codeOf(error?.code);
  const message = isKilled && error?.message.includes(killer) ? killedMessage : (error?.message ?? state);
  const spec = isKilled ? ownSpecs.error : task.queue;
  return errorMessage({ spec, pid, code, message }, createdAt, envelope.form);
}

/** Who cancels when a kill is asked for. */
export const killer = "a monique kill";
export const killedMessage = "task killed";

/** A worker's own code; any word of ours is a component's failure. */
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

/** [monique 6.4] To whoever listens on the technical channel: this one need not be done any more. */
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

/** What a worker said went wrong. More than this is not looked into. */
const errorBytesMax = 64 * 1024;

/** [monique 3.7] `{"code": int, "message": str}`, in either encoding; whatever else it is, it is an error. */
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

/** An object of JSON; undefined for anything else. */
export function readJson(data: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(data.toString()) as unknown;
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Of a map of MessagePack the texts and whole numbers. */
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
