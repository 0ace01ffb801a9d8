// Between the params of a packet and the bodies every other dialect knows: a payload to params, params to a result, a
// result to params.

import type { Body, TaskError, TaskHead } from "@yardmaster/core";
import { bodyOf, bytesOf, isJson, jsonMediaType } from "../body.js";
import { datagramBytesOutMax, isObject, roomOf, uuidOf } from "./codec.js";
import type { Params, UdpTaskId } from "./messages.js";

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
  const own = task.door === door && task.replyTo !== undefined ? readTaskId(task.envelope) : undefined;
  if (own !== undefined) return { taskId: own, uuid: uuidOf(task.replyTo?.address ?? nowhere, own) };
  return { taskId: task.id, uuid: uuidOf(nowhere, task.id) };
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

function readEnvelope(envelope: Uint8Array | undefined): readonly unknown[] {
  if (envelope === undefined) return [];
  const value = readJson(Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length));
  return Array.isArray(value) ? value : [value];
}

/** [udp 3.2] [udp 4] What a calculator is given; undefined when no datagram that it takes could hold it. */
export function paramsFor(
  task: TaskHead,
  { taskId, uuid }: NamedTask,
  room = datagramBytesOutMax,
): Params | undefined {
  const ids = { task_id: taskId, task_uuid: uuid };
  const { payload } = task;
  if (payload.size > room) return undefined;
  const bytes = bytesOf(payload);
  if (bytes.length === 0) return ids;
  const object = isJson(payload.mediaType) ? readJson(bytes) : undefined;
  // [udp 4.1] Ids win over keys of the payload.
  return isObject(object) ? { ...object, ...ids } : { payload: bytes.toString("base64"), ...ids };
}

export type Answer =
  | { readonly type: "result"; readonly result: Body }
  | { readonly type: "error"; readonly error: TaskError };

/** [udp 3.5] `error` fails the attempt; otherwise `result`, else what is no id, else nothing. */
export function answerIn(params: Params): Answer {
  const { error, result } = params;
  if (error !== undefined && error !== null) {
    const message = typeof error === "string" ? error : JSON.stringify(error);
    return { type: "error", error: { code: "calculator_error", message } };
  }
  if (result !== undefined) return { type: "result", result: jsonBody(result) };
  const rest = Object.entries(params).filter(([key]) => !idKeys.has(key) && key !== "error");
  return { type: "result", result: rest.length === 0 ? emptyBody : jsonBody(Object.fromEntries(rest)) };
}

/** [udp 2.7] What a client is shown of a result; whether it fits in a datagram is for whoever sends it. */
export function resultParams(result: Body | undefined, room = datagramBytesOutMax): Params {
  if (result === undefined || result.size === 0) return {};
  if (result.size > room) return truncatedParams(result);
  const bytes = bytesOf(result);
  const value = isJson(result.mediaType) ? readJson(bytes) : undefined;
  if (value !== undefined) return { result: value };
  return { result: bytes.toString("base64"), encoding: "base64" };
}

export function truncatedParams(result: Body | undefined): Params {
  return { truncated: true, size: result?.size ?? 0 };
}

export function jsonBody(value: unknown): Body {
  return bodyOf(Buffer.from(JSON.stringify(value)), jsonMediaType);
}

const emptyBody: Body = { mediaType: jsonMediaType, size: 0, bytes: Buffer.alloc(0) };

function readJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    return undefined;
  }
}
