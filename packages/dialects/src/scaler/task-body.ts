// A client's task as the core carries it: the frames of its TK as a MessagePack array of bin. No frame is longer than 255
// bytes, so each is behind two bytes there as it is on the wire, and one form is made of the other by copying.

import type { Body } from "@yardmaster/core";
import { bytesOf } from "../body.js";
import { arrayOfParts } from "../parts.js";
import { idsAt, type ResultBody, taskMediaType } from "./bodies.js";
import { code } from "./codec.js";
import { pushTask } from "./frames.js";
import type { IdSecret } from "./id-table.js";
import type { LiveTask } from "./live-task.js";
import type { TaskMessage } from "./messages.js";
import type { PackedFrames, PackedWriter } from "./packed-frames.js";
import { taskMetadataBytes } from "./structs.js";

const bin8 = 0xc4;
/** A large payload's bytes are let go of when the engine has them. */
const sharedBytesMax = 1024;
/** More elements need a longer head. */
const shortArrayMax = 15;

/**
 * What the core hands back is the object it was given, mostly: it leads to the task without a search. Where an engine that
 * outlived the door gave it back, it leads to what that door knew, so whoever asks shows that it is the same.
 */
export class TaskBody implements Body {
  readonly mediaType = taskMediaType;
  readonly size: number;
  readonly bytes: Buffer;
  /** Where the task's id is. */
  readonly taskAt: number;
  readonly taskEnd: number;
  #live: LiveTask | undefined = undefined;
  #secret: IdSecret | undefined = undefined;

  constructor(bytes: Buffer) {
    this.size = bytes.length;
    this.bytes = bytes;
    this.taskAt = idsAt(bytes);
    this.taskEnd = this.taskAt + (bytes[this.taskAt - 1] as number);
  }

  /** The task it is of, to a door with this secret. */
  liveTo(secret: IdSecret): LiveTask | undefined {
    return this.#secret === secret ? this.#live : undefined;
  }

  link(live: LiveTask | undefined, secret: IdSecret): void {
    this.#live = live;
    this.#secret = secret;
  }

  /** Beside the payload, which may lie in the engine when an outcome is told: as much of it as `askedIn` reads. */
  get envelope(): Uint8Array {
    const sourceAt = this.taskEnd + 2;
    const envelope = this.bytes.subarray(0, sourceAt + (this.bytes[sourceAt - 1] as number));
    return this.size <= sharedBytesMax ? envelope : Buffer.from(envelope);
  }
}

export function taskBodyOf(message: TaskMessage): TaskBody {
  return new TaskBody(bytesOf(arrayOfParts(pushTask([], message))));
}

/** Of a TK as it came. Undefined where it has too many frames for the short form. */
export function taskBodyIn(frames: PackedFrames): TaskBody | undefined {
  const count = frames.count - 1;
  if (count > shortArrayMax) return undefined;
  const from = (frames.starts[1] as number) - 2;
  const to = frames.ends[count] as number;
  const bytes = Buffer.allocUnsafe(1 + to - from);
  bytes[0] = 0x90 | count;
  for (let i = from; i < to; i++) bytes[1 + i - from] = frames.bytes[i] as number;
  for (let frame = 1; frame <= count; frame++) bytes[(frames.starts[frame] as number) - from - 1] = bin8;
  return new TaskBody(bytes);
}

/** Puts the frames of a task behind what the message begins with. False where there are too many for that. */
export function writeTaskBody(writer: PackedWriter, { bytes, size, taskAt }: TaskBody): boolean {
  if (taskAt !== 3 || writer.length + size > writer.bytes.length) return false;
  const target = writer.bytes;
  const shift = writer.length - 1;
  for (let i = 1; i < size; i++) target[i + shift] = bytes[i] as number;
  let last = 1;
  for (let at = 1; at < size; at += 2 + (bytes[at + 1] as number)) {
    target[at + shift] = 1;
    last = at;
  }
  target[last + shift] = 0;
  writer.length = size + shift;
  return true;
}

/** TR, a task, S, metadata and a result, each behind its two bytes. */
export const resultMessageBytesMax = 5 * 2 + 2 + 255 + 1 + 12 + 255;

/** The TR of a task that is done. */
export function writeResult(writer: PackedWriter, task: TaskBody, { idHex, metadataHex }: ResultBody): void {
  writer.begin(code.TR);
  writer.put(task.bytes, task.taskAt, task.taskEnd);
  writer.putLetter(letterS);
  writer.putHex(metadataHex);
  writer.putHex(idHex, true);
}

/** A TK without a fault, which the codec would have to find, and of none of the door's own names. */
export function isPlainTask(frames: PackedFrames): boolean {
  const { count } = frames;
  if (count < 5 || count % 2 === 0) return false;
  const metadata = frames.lengthOf(3);
  if (metadata !== 0 && metadata !== taskMetadataBytes) return false;
  if (frames.lengthOf(1) === 0 || frames.lengthOf(4) === 0) return false;
  for (let at = 5; at < count; at += 2)
    if (!frames.isLetter(at, letterR) || frames.lengthOf(at + 1) === 0) return false;
  // Whatever begins as a name of the door's own may be one.
  return frames.bytes[frames.starts[1] as number] !== letterY;
}

export function priorityIn(frames: PackedFrames): number {
  return frames.lengthOf(3) === 0 ? 0 : frames.bytes.readInt32BE((frames.starts[3] as number) + 1);
}

const letterR = 0x52;
const letterS = 0x53;
const letterY = 0x79;
