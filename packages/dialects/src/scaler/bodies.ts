// Tasks and results between the wire and the core. A task's payload is its frames, which name objects; what those hold is
// put in their place when it leaves for a worker of another dialect. A result is the object's own bytes, and its media type
// says what the worker called it, so that the answer to the client can name it too.

import { createHash } from "node:crypto";
import type { Body, TaskHead, TaskId } from "@yardmaster/core";
import { bytesMediaType, bytesOf } from "../body.js";
import { partsOfArray } from "../parts.js";
import { none, readTask } from "./frames.js";
import type { TaskMessage } from "./messages.js";
import type { ObjectContent } from "./scaler-object.js";
import { resultMetadataBytes, taskMetadata } from "./structs.js";

/** A MessagePack array of the frames of a TK, without its type. */
export const taskMediaType = "application/vnd.yardmaster.scaler-task+msgpack";

/** The task that a payload of ours was. */
export function taskIn(payload: Body): TaskMessage | undefined {
  const frames = framesIn(payload);
  if (frames === undefined) return undefined;
  const reading = readTask(frames, 0, frames.length, false);
  return reading.ok ? reading.message : undefined;
}

/** Its frames alone. */
export function framesIn(payload: Body): Buffer[] | undefined {
  return payload.mediaType === taskMediaType ? partsOfArray(bytesOf(payload)) : undefined;
}

/** In an envelope: who asked, and what they call the task. These are a payload's first two frames, and it their bytes. */
export function askedIn(envelope: Uint8Array | undefined): { task: Buffer; source: Buffer } | undefined {
  if (envelope === undefined) return undefined;
  const bytes = Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length);
  const taskAt = idsAt(bytes);
  const sourceAt = taskAt + (bytes[taskAt - 1] ?? 0) + 2;
  const end = sourceAt + (bytes[sourceAt - 1] ?? 0);
  if (end > bytes.length) return undefined;
  return { task: bytes.subarray(taskAt, sourceAt - 2), source: bytes.subarray(sourceAt, end) };
}

/** Where the first id of an array of them begins: behind the array's head, and its own of two bytes. */
export function idsAt(bytes: Uint8Array): number {
  if (bytes[0] === 0xdc) return 5;
  return bytes[0] === 0xdd ? 7 : 3;
}

/** What a worker said of its result beside the bytes. */
export interface NamedResult {
  readonly id: Buffer;
  readonly metadata: Buffer;
}

const resultPattern =
  /^application\/octet-stream; scaler-result=([0-9a-f]+)(?:; scaler-metadata=([0-9a-f]+))?$/;

/** A result that still is what the door made of it need not be read again to be told. */
export class ResultBody implements Body {
  readonly mediaType: string;
  readonly size: number;
  readonly bytes: Buffer;
  readonly idHex: string;
  /** Empty where there is none. */
  readonly metadataHex: string;

  constructor(idHex: string, metadataHex: string, bytes: Buffer) {
    const measured = metadataHex === "" ? "" : `; scaler-metadata=${metadataHex}`;
    this.mediaType = `${bytesMediaType}; scaler-result=${idHex}${measured}`;
    this.size = bytes.length;
    this.bytes = bytes;
    this.idHex = idHex;
    this.metadataHex = metadataHex;
  }
}

export function resultBody({ id, metadata }: NamedResult, bytes: Buffer): Body {
  const measured = metadata.length === resultMetadataBytes ? metadata.toString("hex") : "";
  return new ResultBody(id.toString("hex"), measured, bytes);
}

/** Undefined for a result that no worker of this dialect made. */
export function namedResult(result: Body | undefined): NamedResult | undefined {
  const found = result === undefined ? null : resultPattern.exec(result.mediaType);
  if (found?.[1] === undefined) return undefined;
  return { id: Buffer.from(found[1], "hex"), metadata: found[2] ? Buffer.from(found[2], "hex") : none };
}

/** [scaler 5.6] The name of an object that the door makes for a client's task: the same each time it is made. */
export function madeObjectId(source: Buffer, task: Buffer, what: "result" | "error"): Buffer {
  const ofSource = createHash("md5").update(source).digest().subarray(0, 8);
  const ofTask = createHash("md5").update(task).update(what).digest();
  return Buffer.concat([ofSource, ofTask]);
}

// [scaler 7.2] A task that came in by another door, as a worker of this one sees it.

/** Whom such a task is from. No client may call itself so. */
export const yardSource = Buffer.from("yardmaster");
const taskPrefix = "yardtask";
const argumentPrefix = "yardargument";
const functionPrefix = "yardfunction:";

function numbered(prefix: string, task: TaskId): Buffer {
  const id = Buffer.alloc(prefix.length + 8);
  id.write(prefix, "latin1");
  id.writeBigUInt64BE(BigInt(task), prefix.length);
  return id;
}

/** Names that only the door gives. */
export function isYardTask(id: Buffer): boolean {
  return id.length === taskPrefix.length + 8 && id.toString("latin1", 0, taskPrefix.length) === taskPrefix;
}

export function foreignTask({ id, priority }: TaskHead, functionName: string): TaskMessage {
  return {
    type: "task",
    task: numbered(taskPrefix, id),
    source: yardSource,
    metadata: taskMetadata(Math.min(Math.max(-priority, -0x8000_0000), 0x7fff_ffff)),
    function: functionIdOf(functionName),
    arguments: [{ kind: "R", id: foreignArgument(id) }],
  };
}

export function foreignArgument(task: TaskId): Buffer {
  return numbered(argumentPrefix, task);
}

/** The task whose argument it is; undefined for any other id. */
function taskOfArgument(id: Buffer): TaskId | undefined {
  const { length } = argumentPrefix;
  if (id.length !== length + 8 || id.toString("latin1", 0, length) !== argumentPrefix) return undefined;
  return Number(id.readBigUInt64BE(length)) as TaskId;
}

/** Long names are told by their digest: an id has 255 bytes at most. */
function functionIdOf(name: string): Buffer {
  const id = Buffer.from(functionPrefix + name);
  return id.length <= 255 ? id : Buffer.from(functionPrefix + createHash("md5").update(name).digest("hex"));
}

const functionNameFrame = Buffer.from("<function>");
const argumentNameFrame = Buffer.from("<argument>");

/** The function or the argument of such a task; undefined for any other id, and for a task that is not the worker's. */
export function foreignObject(
  id: Buffer,
  functionName: string,
  payloadOf: (task: TaskId) => Body | undefined,
): ObjectContent | undefined {
  if (id.equals(functionIdOf(functionName)))
    return { name: functionNameFrame, bytes: Buffer.from(functionName) };
  const task = taskOfArgument(id);
  const payload = task && payloadOf(task);
  return payload && { name: argumentNameFrame, bytes: bytesOf(payload) };
}
