// Conversion between a packet's params and the bodies of every other dialect: a payload to params,
// params to a result, a result to params.

import type { Body, TaskError, TaskHead } from "@yardmaster/core";
import { bytesOf, isJson, jsonMediaType } from "../body.js";
import { isNestedDeeper } from "../nesting.js";
import { datagramBytesOutMax, depthMax, isObject, roomOf, uuidOf } from "./codec.js";
import type { NotifiedStatus, Params, ParamsText, UdpTaskId } from "./messages.js";

/** [udp 4.3] The address given as the origin of tasks from other doors. */
const nowhere = "0.0.0.0:0";

/** [udp 3.5] Params that name a task and are no part of an answer. */
const idKeys = new Set(["task_id", "task_uuid"]);

export interface NamedTask {
  readonly taskId: UdpTaskId;
  readonly uuid: string;
}

/**
 * [udp 2.2] A client's task has the client's name for it; [udp 4.3] any other has its number in the
 * yard.
 */
export function nameTask(task: TaskHead, door: string): NamedTask {
  const own = clientsIdOf(task, door);
  if (own !== undefined) return { taskId: own, uuid: uuidOf(task.replyTo?.address ?? nowhere, own) };
  return { taskId: task.id, uuid: uuidOf(nowhere, task.id) };
}

/** The client's name for it; undefined for a task of another door. */
export function clientsIdOf(task: TaskHead, door: string): UdpTaskId | undefined {
  return task.door === door && task.replyTo !== undefined ? readTaskId(task.envelope) : undefined;
}

/** The number of a task of another door, from the uuid that `nameTask` gave it. */
export function yardNumberIn(uuid: string): number | undefined {
  if (!uuid.startsWith(`${nowhere}:`)) return undefined;
  const number = Number(uuid.slice(nowhere.length + 1));
  return Number.isSafeInteger(number) && number > 0 ? number : undefined;
}

/**
 * Keeps a client's task_id beside the payload, with its JSON type. If the datagram of the request
 * was long enough to show that the client reads longer ones than others do, keeps that length too,
 * so that every delivery is the same, even after a restart. `isProven`: the client has acknowledged
 * something before, so its address is not forged.
 */
export function envelopeOf(taskId: UdpTaskId, bytes = 0, isProven = false): Uint8Array {
  const isShort = bytes <= datagramBytesOutMax;
  const value = isProven ? [taskId, isShort ? 0 : bytes, true] : isShort ? taskId : [taskId, bytes];
  return Buffer.from(JSON.stringify(value));
}

/** True if the client's address was proven when it submitted this task. */
export function isOfProvenClient(envelope: Uint8Array | undefined): boolean {
  return envelope?.[0] === openingBracket && readEnvelope(envelope)[2] === true;
}

export function readTaskId(envelope: Uint8Array | undefined): UdpTaskId | undefined {
  if (envelope === undefined) return undefined;
  const number = readDigits(envelope);
  if (number !== undefined) return number;
  const [taskId] = readEnvelope(envelope);
  return typeof taskId === "number" || typeof taskId === "string" ? taskId : undefined;
}

/** [udp 1.1] Maximum length of a message to this task's client. */
export function roomIn(envelope: Uint8Array | undefined): number {
  // Most tasks came in a short datagram, and their envelope holds only the id.
  if (envelope?.[0] !== openingBracket) return datagramBytesOutMax;
  const [, bytes] = readEnvelope(envelope);
  return roomOf(typeof bytes === "number" ? bytes : 0);
}

const openingBracket = "[".charCodeAt(0);

/** Fast path: most ids are a few digits, and each is read twice for a task. */
function readDigits(bytes: Uint8Array): number | undefined {
  if (bytes.length === 0 || bytes.length > exactDigits) return undefined;
  let number = 0;
  for (const byte of bytes) {
    const digit = byte - zero;
    if (digit < 0 || digit > 9) return undefined;
    number = 10 * number + digit;
  }
  return number;
}

const zero = "0".charCodeAt(0);
/** A number with this many digits is exact. */
const exactDigits = 15;

function readEnvelope(envelope: Uint8Array): readonly unknown[] {
  const value = readJson(Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length).toString());
  return Array.isArray(value) ? value : [value];
}

/**
 * [udp 3.2] [udp 4] The params for a calculator; undefined when they fit no datagram that it reads.
 */
export function paramsFor(
  task: TaskHead,
  { taskId, uuid }: NamedTask,
  room = datagramBytesOutMax,
): ParamsText | undefined {
  const { payload } = task;
  if (payload.size > room) return undefined;
  const ids = { task_id: taskId, task_uuid: uuid };
  const bytes = bytesOf(payload);
  if (bytes.length === 0) return JSON.stringify(ids);
  if (!isJson(payload.mediaType)) return JSON.stringify({ payload: bytes.toString("base64"), ...ids });
  const text = bytes.toString();
  // We wrote a client's params, which contain its task_id. The other id is appended.
  const isClients = !uuid.startsWith(nowhere);
  if (isClients && !text.includes(uuidKey)) {
    return `${text.slice(0, -1)},${uuidKey}:${JSON.stringify(uuid)}}`;
  }
  const object = readJson(text);
  // [udp 4.1] Ids take precedence over keys of the payload. [udp 1.2] A value that is too deeply
  // nested for a datagram is sent as bytes, like everything that is not an object.
  const isMerged = isObject(object) && !isNestedDeeper(object, depthMax);
  return JSON.stringify(isMerged ? { ...object, ...ids } : { payload: bytes.toString("base64"), ...ids });
}

const uuidKey = '"task_uuid"';

export type AttemptAnswer =
  | { readonly error: undefined; readonly result: Body }
  | { readonly error: TaskError; readonly result?: undefined };

/**
 * [udp 3.5] `error` fails the attempt. Otherwise the answer is `result`, else all params that are
 * no ids, else nothing.
 */
export function answerIn(params: Params): AttemptAnswer {
  const { error, result } = params;
  if (error !== undefined && error !== null) {
    const message = typeof error === "string" ? error : JSON.stringify(error);
    return { error: { code: "calculator_error", message } };
  }
  if (result !== undefined) return { error: undefined, result: jsonBody(result) };
  const rest = Object.entries(params).filter(([key]) => !idKeys.has(key) && key !== "error");
  return { error: undefined, result: rest.length === 0 ? emptyBody : jsonBody(Object.fromEntries(rest)) };
}

/** [udp 2.7] The params of a success. The sender checks that they fit into a datagram. */
export function successParams(
  taskId: UdpTaskId,
  result: Body | undefined,
  room = datagramBytesOutMax,
): ParamsText {
  if (result === undefined || result.size === 0) return successWith(taskId, "");
  if (result.size > room) return truncatedParams(taskId, result);
  const bytes = bytesOf(result);
  const text = isJson(result.mediaType) ? bytes.toString() : undefined;
  if (text !== undefined && readJson(text) !== undefined) return successWith(taskId, `,"result":${text}`);
  return successWith(taskId, `,"result":"${bytes.toString("base64")}","encoding":"base64"`);
}

export function truncatedParams(taskId: UdpTaskId, result: Body | undefined): ParamsText {
  return successWith(taskId, `,"truncated":true,"size":${result?.size ?? 0}`);
}

/** Longer reasons are shown on the task's page only. */
const errorBytesMax = 400;
/** Size of a notify_task around its params. */
const frameBytes = 64;

/** [udp 2.8] Why a task did not succeed, cut to the room there is. */
export function endedParams(
  status: NotifiedStatus,
  taskId: UdpTaskId,
  error: string | undefined,
): ParamsText {
  const ids = { status, task_id: taskId };
  if (error === undefined || error === "") return JSON.stringify(ids);
  const room = datagramBytesOutMax - frameBytes - Buffer.byteLength(JSON.stringify({ ...ids, error: "" }));
  return JSON.stringify({ ...ids, error: shortened(error, Math.min(room, errorBytesMax)) });
}

/** As many characters as fit when written as JSON. */
function shortened(error: string, room: number): string {
  const bytesOfText = (text: string) => Buffer.byteLength(JSON.stringify(text)) - 2;
  if (error.length <= room && bytesOfText(error) <= room) return error;
  let text = "";
  for (const character of error) {
    if (bytesOfText(`${text}${character}…`) > room) break;
    text += character;
  }
  return `${text}…`;
}

function successWith(taskId: UdpTaskId, more: string): ParamsText {
  return `{"status":"success","task_id":${JSON.stringify(taskId)}${more}}`;
}

/** The bytes are not copied, because those made from a string share no large buffer. */
export function jsonBody(value: unknown): Body {
  const bytes = Buffer.from(JSON.stringify(value));
  return { mediaType: jsonMediaType, size: bytes.length, bytes };
}

const emptyBody: Body = { mediaType: jsonMediaType, size: 0, bytes: Buffer.alloc(0) };

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
