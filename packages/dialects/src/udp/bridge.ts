// Between the params of a packet and the bodies every other dialect knows: a payload to params, params to a result, a
// result to params.

import type { Body, TaskError, TaskHead } from "@yardmaster/core";
import { bytesOf, isJson, jsonMediaType } from "../body.js";
import { datagramBytesOutMax, isObject, roomOf, uuidOf } from "./codec.js";
import type { NotifiedStatus, Params, ParamsText, UdpTaskId } from "./messages.js";

/** [udp 4.3] Where tasks of other doors are said to come from. */
const nowhere = "0.0.0.0:0";

/** [udp 3.5] Params by which a task is named, and which are no answer. */
const idKeys = new Set(["task_id", "task_uuid"]);

export interface NamedTask {
  readonly taskId: UdpTaskId;
  readonly uuid: string;
}

/** [udp 2.2] A client's task goes by the client's name for it; [udp 4.3] any other by its number in the yard. */
export function nameTask(task: TaskHead, door: string): NamedTask {
  const own = clientsIdOf(task, door);
  if (own !== undefined) return { taskId: own, uuid: uuidOf(task.replyTo?.address ?? nowhere, own) };
  return { taskId: task.id, uuid: uuidOf(nowhere, task.id) };
}

/** What the client calls it; undefined for a task that came by another door. */
export function clientsIdOf(task: TaskHead, door: string): UdpTaskId | undefined {
  return task.door === door && task.replyTo !== undefined ? readTaskId(task.envelope) : undefined;
}

/** The number in the yard of a task that came by another door, by the uuid that `nameTask` gave it. */
export function yardNumberIn(uuid: string): number | undefined {
  if (!uuid.startsWith(`${nowhere}:`)) return undefined;
  const number = Number(uuid.slice(nowhere.length + 1));
  return Number.isSafeInteger(number) && number > 0 ? number : undefined;
}

/**
 * A client's task_id is kept beside the payload, with its JSON type; and where it came in a datagram that showed that the
 * client takes more than others, how long that was: so that what it is told is the same each time, after a restart, too.
 */
export function envelopeOf(taskId: UdpTaskId, bytes = 0): Uint8Array {
  return Buffer.from(JSON.stringify(bytes > datagramBytesOutMax ? [taskId, bytes] : taskId));
}

export function readTaskId(envelope: Uint8Array | undefined): UdpTaskId | undefined {
  if (envelope === undefined) return undefined;
  const number = readDigits(envelope);
  if (number !== undefined) return number;
  const [taskId] = readEnvelope(envelope);
  return typeof taskId === "number" || typeof taskId === "string" ? taskId : undefined;
}

/** [udp 1.1] How long what is told of a task may be. */
export function roomIn(envelope: Uint8Array | undefined): number {
  // Most tasks came in a short datagram, and have no more than their id there.
  if (envelope?.[0] !== openingBracket) return datagramBytesOutMax;
  const [, bytes] = readEnvelope(envelope);
  return roomOf(typeof bytes === "number" ? bytes : 0);
}

const openingBracket = "[".charCodeAt(0);

/** Most ids are a few digits, and read twice for each task. */
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
/** A number of so many digits is exact. */
const exactDigits = 15;

function readEnvelope(envelope: Uint8Array): readonly unknown[] {
  const value = readJson(Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length).toString());
  return Array.isArray(value) ? value : [value];
}

/** [udp 3.2] [udp 4] What a calculator is given; undefined when no datagram that it takes could hold it. */
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
  // A client's params were written by us and have its task_id in them: the other id is put behind them.
  const isClients = !uuid.startsWith(nowhere);
  if (isClients && !text.includes(uuidKey)) {
    return `${text.slice(0, -1)},${uuidKey}:${JSON.stringify(uuid)}}`;
  }
  const object = readJson(text);
  // [udp 4.1] Ids win over keys of the payload.
  return JSON.stringify(
    isObject(object) ? { ...object, ...ids } : { payload: bytes.toString("base64"), ...ids },
  );
}

const uuidKey = '"task_uuid"';

export type Answer =
  | { readonly error: undefined; readonly result: Body }
  | { readonly error: TaskError; readonly result?: undefined };

/** [udp 3.5] `error` fails the attempt; otherwise `result`, else what is no id, else nothing. */
export function answerIn(params: Params): Answer {
  const { error, result } = params;
  if (error !== undefined && error !== null) {
    const message = typeof error === "string" ? error : JSON.stringify(error);
    return { error: { code: "calculator_error", message } };
  }
  if (result !== undefined) return { error: undefined, result: jsonBody(result) };
  const rest = Object.entries(params).filter(([key]) => !idKeys.has(key) && key !== "error");
  return { error: undefined, result: rest.length === 0 ? emptyBody : jsonBody(Object.fromEntries(rest)) };
}

/** [udp 2.7] What a client is told of a success; whether it fits in a datagram is for whoever sends it. */
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

/** Longer reasons are for the task's page. */
const errorBytesMax = 400;
/** What a notify_task has around its params. */
const frameBytes = 64;

/** [udp 2.8] Why a task did not succeed, as far as there is room for words. */
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

/** As many of its characters as fit, in the bytes that JSON makes of them. */
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

/** Its bytes are not copied: what is made of a text shares memory with nothing large. */
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
