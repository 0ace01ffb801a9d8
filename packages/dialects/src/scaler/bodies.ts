// Tasks and results between the wire and the core. A task's payload is its frames, which name
// objects. For a worker of another dialect, the bytes of these objects replace their names. A
// result is the bytes of its object. Its envelope is the worker's answer, so that the answer to the
// client can name the object.

import { createHash } from "node:crypto";
import type { Body, TaskHead, TaskId } from "@yardmaster/core";
import { bytesMediaType, bytesOf } from "../body.js";
import type { TaskMessage } from "./messages.js";
import { endAt, type IdBytes, nextAt, PackedFrames, PackedResult, PackedTask } from "./packed-messages.js";
import type { ObjectContent } from "./scaler-object.js";
import { taskMetadata } from "./structs.js";

/** A MessagePack array of a TK's frames, without its type frame. */
export const taskMediaType = "application/vnd.yardmaster.scaler-task+msgpack";

/** A payload that this dialect encoded. */
export function taskIn(payload: Body): PackedTask | undefined {
  return payload.mediaType === taskMediaType ? new PackedTask(bytesOf(payload)) : undefined;
}

/** The payload and the envelope of a task. */
export function bodyOfTask({ bytes }: PackedTask): Body {
  return { mediaType: taskMediaType, size: bytes.length, bytes };
}

/** The ids of a client and of its task: an envelope, or a payload's first two frames. */
export class AskedIds extends PackedFrames<Uint8Array> {
  get task(): Buffer {
    return Buffer.from(this.bytes.subarray(this.taskAt, this.taskEnd));
  }

  get source(): Buffer {
    const at = nextAt(this.bytes, this.taskAt);
    return Buffer.from(this.bytes.subarray(at, endAt(this.bytes, at)));
  }
}

/** Undefined for a task that was not submitted in this dialect. */
export function askedIn(envelope: Uint8Array | undefined): AskedIds | undefined {
  if (envelope === undefined || envelope.length === 0) return undefined;
  const asked = new AskedIds(envelope);
  const sourceAt = nextAt(envelope, asked.taskAt);
  return sourceAt <= envelope.length && endAt(envelope, sourceAt) <= envelope.length ? asked : undefined;
}

export function resultBody(answer: PackedResult, bytes: Buffer): Body {
  return { mediaType: bytesMediaType, size: bytes.length, bytes, envelope: answer.bytes };
}

/** Ids in the media type, as results in stores of earlier releases have them. */
const oldPattern = /^application\/octet-stream; scaler-result=([0-9a-f]+)(?:; scaler-metadata=([0-9a-f]+))?$/;

/** What a worker of this dialect answered about the task; undefined for any other result. */
export function answerIn(result: Body | undefined, asked: AskedIds): PackedResult | undefined {
  if (result === undefined) return undefined;
  const { envelope } = result;
  if (envelope !== undefined)
    return new PackedResult(Buffer.isBuffer(envelope) ? envelope : Buffer.from(envelope));
  if (result.mediaType === bytesMediaType) return undefined;
  const [, id, metadata = ""] = oldPattern.exec(result.mediaType) ?? [];
  if (id === undefined) return undefined;
  return PackedResult.of({
    type: "task-result",
    task: asked.task,
    status: "S",
    metadata: Buffer.from(metadata, "hex"),
    results: [Buffer.from(id, "hex")],
  });
}

/**
 * [scaler 5.6] Id of an object that the door makes for a client's task. The same inputs give the
 * same id.
 */
export function madeObjectId(source: Buffer, task: Buffer, what: "result" | "error"): Buffer {
  const ofSource = createHash("md5").update(source).digest().subarray(0, 8);
  const ofTask = createHash("md5").update(task).update(what).digest();
  return Buffer.concat([ofSource, ofTask]);
}

// [scaler 7.2] How a worker of this dialect sees a task that another door accepted.

/** The source that such a task names. No client may use this identity. */
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

/** True for ids that only the door may assign. */
export function isYardTask({ bytes, taskAt, taskEnd }: IdBytes): boolean {
  if (taskEnd - taskAt !== taskPrefix.length + 8) return false;
  for (let i = 0; i < taskPrefix.length; i++)
    if (bytes[taskAt + i] !== taskPrefix.charCodeAt(i)) return false;
  return true;
}

/** The id under which workers of this dialect know such a task. */
export function foreignTaskId(task: TaskId): Buffer {
  return numbered(taskPrefix, task);
}

export function foreignTask({ id, priority }: TaskHead, functionName: string): TaskMessage {
  return {
    type: "task",
    task: foreignTaskId(id),
    source: yardSource,
    metadata: taskMetadata(Math.min(Math.max(-priority, -0x8000_0000), 0x7fff_ffff)),
    function: functionIdOf(functionName),
    arguments: [{ kind: "R", id: foreignArgument(id) }],
  };
}

export function foreignArgument(task: TaskId): Buffer {
  return numbered(argumentPrefix, task);
}

/** The task to which this argument belongs; undefined for any other id. */
function taskOfArgument(id: Buffer): TaskId | undefined {
  const { length } = argumentPrefix;
  if (id.length !== length + 8 || id.toString("latin1", 0, length) !== argumentPrefix) return undefined;
  return Number(id.readBigUInt64BE(length)) as TaskId;
}

/** Long names are replaced by their digest, because an id has at most 255 bytes. */
function functionIdOf(name: string): Buffer {
  const id = Buffer.from(functionPrefix + name);
  return id.length <= 255 ? id : Buffer.from(functionPrefix + createHash("md5").update(name).digest("hex"));
}

const functionNameFrame = Buffer.from("<function>");
const argumentNameFrame = Buffer.from("<argument>");

/**
 * The function or argument of such a task. Undefined for any other id, and for a task that this
 * worker does not hold.
 */
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
