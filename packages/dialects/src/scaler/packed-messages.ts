// A task and a result as the door keeps them: the frames of a TK or TR after its type, as a
// MessagePack array of binary values. No frame is longer than 255 bytes, so each has two bytes in
// front, as on the wire. Converting between the two forms is a copy.

import { bytesOf } from "../body.js";
import { arrayOfParts, partsOfArray } from "../parts.js";
import type { WireFrames } from "../wire-frames.js";
import { letterFrame, none, pushTask } from "./frames.js";
import { areBytes } from "./id-table.js";
import type { Argument, TaskMessage, TaskResult, TaskStatus } from "./messages.js";
import { resultMetadataBytes } from "./structs.js";

const bin8 = 0xc4;
/** More elements need a longer array head. */
const shortArrayMax = 15;
/** The bytes of a payload larger than this are freed once the engine has them. */
const sharedBytesMax = 1024;

/** The id of a task: the bytes from `taskAt` to `taskEnd`. */
export interface IdBytes {
  readonly bytes: Uint8Array;
  readonly taskAt: number;
  readonly taskEnd: number;
}

/** The id in a buffer of its own. */
export function idBytes(id: Buffer): IdBytes {
  return { bytes: id, taskAt: 0, taskEnd: id.length };
}

export function isId(
  { bytes: own, taskAt, taskEnd }: IdBytes,
  bytes: Uint8Array,
  from: number,
  to: number,
): boolean {
  return to - from === taskEnd - taskAt && areBytes(own, taskAt, bytes, from, to);
}

export function copyOfId({ bytes, taskAt, taskEnd }: IdBytes): Buffer {
  return Buffer.from(bytes.subarray(taskAt, taskEnd));
}

/** Offset of the first frame in an array: after the array's head and the frame's two-byte head. */
export function firstAt(bytes: Uint8Array): number {
  if (bytes[0] === 0xdc) return 5;
  return bytes[0] === 0xdd ? 7 : 3;
}

/** Offset of the frame after the one at `at`. */
export function nextAt(bytes: Uint8Array, at: number): number {
  return endAt(bytes, at) + 2;
}

export function endAt(bytes: Uint8Array, at: number): number {
  return at + (bytes[at - 1] as number);
}

/** Packs the frames from..to of a message. None of them may be longer than 255 bytes. */
function packed(frames: WireFrames, from: number, to: number): Buffer {
  const count = to - from;
  if (count > shortArrayMax) return bytesOf(arrayOfParts(frames.slices(from, to)));
  let size = 1 + 2 * count;
  for (let frame = from; frame < to; frame++) size += frames.lengthOf(frame);
  const bytes = Buffer.allocUnsafe(size);
  bytes[0] = 0x90 | count;
  for (let frame = from, at = 1; frame < to; frame++) {
    bytes[at] = bin8;
    bytes[at + 1] = frames.lengthOf(frame);
    at = frames.copyTo(bytes, at + 2, frame);
  }
  return bytes;
}

/** Packed frames, of which the first is the id of a task. */
export class PackedFrames<Bytes extends Uint8Array> implements IdBytes {
  readonly bytes: Bytes;
  readonly taskAt: number;
  readonly taskEnd: number;

  constructor(bytes: Bytes) {
    this.bytes = bytes;
    this.taskAt = firstAt(bytes);
    this.taskEnd = endAt(bytes, this.taskAt);
  }
}

/** A task. Its bytes are its payload in the core. */
export class PackedTask extends PackedFrames<Buffer> implements TaskMessage {
  readonly type = "task";

  static of(message: TaskMessage): PackedTask {
    if (message instanceof PackedTask) return message;
    return new PackedTask(bytesOf(arrayOfParts(pushTask([], message))));
  }

  /** Reads the frames from..to, which must be those of a valid task. */
  static in(frames: WireFrames, from: number, to: number): PackedTask {
    return new PackedTask(packed(frames, from, to));
  }

  get task(): Buffer {
    return this.bytes.subarray(this.taskAt, this.taskEnd);
  }

  get source(): Buffer {
    return this.frames[1] as Buffer;
  }

  get metadata(): Buffer {
    return this.frames[2] as Buffer;
  }

  get function(): Buffer {
    return this.frames[3] as Buffer;
  }

  get arguments(): readonly Argument[] {
    const [, , , , ...rest] = this.frames;
    const found: Argument[] = [];
    for (let at = 0; at < rest.length; at += 2)
      found.push({ kind: String(rest[at]) === "T" ? "T" : "R", id: rest[at + 1] as Buffer });
    return found;
  }

  isFrom(source: Buffer): boolean {
    const at = this.#sourceAt;
    const end = endAt(this.bytes, at);
    return end - at === source.length && areBytes(source, 0, this.bytes, at, end);
  }

  /** [scaler 2.4] A lower number is more urgent. */
  get priority(): number {
    const at = nextAt(this.bytes, this.#sourceAt);
    return endAt(this.bytes, at) === at ? 0 : this.bytes.readInt32BE(at + 1);
  }

  /** Offset of the id of its function. Those of its arguments follow, each after its kind. */
  get functionAt(): number {
    return nextAt(this.bytes, nextAt(this.bytes, this.#sourceAt));
  }

  /** The ids of task and source. They stay in memory when the payload is only in the engine. */
  get envelope(): Uint8Array {
    const envelope = this.bytes.subarray(0, endAt(this.bytes, this.#sourceAt));
    return this.bytes.length <= sharedBytesMax ? envelope : Buffer.from(envelope);
  }

  /** Its id, in memory that may be kept longer than the payload. */
  idToKeep(): IdBytes {
    return this.bytes.length <= sharedBytesMax ? this : idBytes(Buffer.from(this.task));
  }

  get frames(): readonly Buffer[] {
    return partsOfArray(this.bytes) ?? [];
  }

  get #sourceAt(): number {
    return this.taskEnd + 2;
  }
}

/** A result. Its bytes are the envelope of the result in the core. */
export class PackedResult extends PackedFrames<Buffer> implements TaskResult {
  readonly type = "task-result";

  /** [scaler 2.3] Metadata of another size than clients accept is left out. */
  static of(message: TaskResult): PackedResult {
    if (message instanceof PackedResult) return message;
    const { task, status, metadata, results } = message;
    const kept = metadata.length === resultMetadataBytes ? metadata : none;
    return new PackedResult(bytesOf(arrayOfParts([task, letterFrame(status), kept, ...results])));
  }

  /** Reads a message of form r, which must be a valid result. */
  static in(frames: WireFrames): PackedResult {
    return new PackedResult(packed(frames, 1, frames.count));
  }

  get task(): Buffer {
    return this.bytes.subarray(this.taskAt, this.taskEnd);
  }

  get status(): TaskStatus {
    return letters[this.bytes[this.taskEnd + 2] as number] as TaskStatus;
  }

  get metadata(): Buffer {
    const at = this.#metadataAt;
    return this.bytes.subarray(at, endAt(this.bytes, at));
  }

  get results(): readonly Buffer[] {
    return this.frames.slice(3);
  }

  get frames(): readonly Buffer[] {
    return partsOfArray(this.bytes) ?? [];
  }

  /** Offset of the id of its first result; the end of its bytes if it has none. */
  get resultAt(): number {
    const at = nextAt(this.bytes, this.#metadataAt);
    return Math.min(at, this.bytes.length);
  }

  get hasOneResult(): boolean {
    const at = this.resultAt;
    return at < this.bytes.length && endAt(this.bytes, at) === this.bytes.length;
  }

  get #metadataAt(): number {
    return this.taskEnd + 5;
  }
}

const letters = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));
