// What every message of the dialect is made of: its type in the first frame, then frames whose sizes and number are checked
// here. A peer's mistake is a value.

import type {
  Argument,
  ObjectAnswer,
  Reading,
  ScalerFault,
  TaskMessage,
  TaskResult,
  TaskStatus,
} from "./messages.js";
import { taskMetadataBytes } from "./structs.js";

/** Two letters, read as one number: `frames[0]` of a message. */
export type TypeCode = number;

export function codeOf(letters: string): TypeCode {
  return Buffer.from(letters).readUInt16BE();
}

export function typeOf(frames: readonly Buffer[]): TypeCode | undefined {
  const first = frames[0];
  return first?.length === 2 ? first.readUInt16BE() : undefined;
}

export const none = Buffer.alloc(0);

type Refused = { readonly ok: false; readonly fault: ScalerFault };

/** One of each, since a hostile peer may cause a million. */
const refusals = new Map<ScalerFault, Refused>();

export function refused(fault: ScalerFault): Refused {
  let refusal = refusals.get(fault);
  if (refusal === undefined) {
    refusal = { ok: false, fault };
    refusals.set(fault, refusal);
  }
  return refusal;
}

export function read<Message>(message: Message): Reading<Message> {
  return { ok: true, message };
}

/** [scaler 1.3] Identities, task ids and object ids alike: a ZeroMQ identity cannot be longer. */
const idBytesMax = 255;

export function isId(frame: Buffer | undefined): frame is Buffer {
  return frame !== undefined && frame.length > 0 && frame.length <= idBytesMax;
}

export function areIds(frames: readonly Buffer[]): boolean {
  for (const frame of frames) if (!isId(frame)) return false;
  return true;
}

/** The letter a one-byte frame holds; undefined for any other frame. */
export function letterOf(frame: Buffer | undefined): string | undefined {
  return frame?.length === 1 ? (letters[frame[0] ?? 0] ?? "") : undefined;
}

const letters = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const letterFrames = letters.map((letter) => Buffer.from(letter));

export function letterFrame(letter: string): Buffer {
  return letterFrames[letter.charCodeAt(0)] ?? none;
}

const statuses = new Set("SFCNKWIRX");

export function statusOf(frame: Buffer | undefined): TaskStatus | undefined {
  const letter = letterOf(frame);
  return letter !== undefined && statuses.has(letter) ? (letter as TaskStatus) : undefined;
}

/**
 * [scaler 2.1] The frames of a task from `from` up to `to`. Only a graph's tasks may name another's result (`T`).
 */
export function readTask(
  frames: readonly Buffer[],
  from: number,
  to: number,
  isNode: boolean,
): Reading<TaskMessage> {
  const [task, source, metadata, functionId] = [
    frames[from],
    frames[from + 1],
    frames[from + 2],
    frames[from + 3],
  ];
  if (to - from < 4 || metadata === undefined || (to - from) % 2 !== 0) return refused("frame_count");
  if (!isId(task) || !isId(source) || !isId(functionId)) return refused("id_size");
  if (metadata.length !== 0 && metadata.length !== taskMetadataBytes) return refused("field_size");
  const found: Argument[] = [];
  for (let at = from + 4; at < to; at += 2) {
    const kind = letterOf(frames[at]);
    const id = frames[at + 1];
    if (kind !== "R" && (kind !== "T" || !isNode)) return refused("bad_kind");
    if (!isId(id)) return refused("id_size");
    found.push({ kind, id });
  }
  return read({ type: "task", task, source, metadata, function: functionId, arguments: found });
}

export function pushTask(frames: Buffer[], message: TaskMessage): Buffer[] {
  frames.push(message.task, message.source, message.metadata, message.function);
  for (const { kind, id } of message.arguments) frames.push(letterFrame(kind), id);
  return frames;
}

/** Ids, names and bytes, behind their three counts. */
export type Objects = Pick<ObjectAnswer, "ids" | "names" | "bytes" | "hasSplitCounts">;

/** [scaler 1.5] Counts that do not match the frames there are make the message worthless: nothing of it is taken. */
export function readObjects(frames: readonly Buffer[], at: number): Reading<Objects> {
  const counts = frames[at];
  const hasSplitCounts = counts?.length === 4;
  const blob = hasSplitCounts ? Buffer.concat(frames.slice(at, at + 3)) : counts;
  if (blob === undefined) return refused("frame_count");
  if (blob.length !== 12) return refused("field_size");
  const ids = blob.readUInt32LE(0);
  const names = blob.readUInt32LE(4);
  const bytes = blob.readUInt32LE(8);
  const first = at + (hasSplitCounts ? 3 : 1);
  if (ids + names + bytes !== frames.length - first) return refused("counts_differ");
  const objects = {
    ids: frames.slice(first, first + ids),
    names: frames.slice(first + ids, first + ids + names),
    bytes: frames.slice(first + ids + names),
    hasSplitCounts,
  };
  return areIds(objects.ids) ? read(objects) : refused("id_size");
}

/** `idCount`: where more ids follow than are pushed here. */
export function pushObjects(
  frames: Buffer[],
  { ids, names, bytes, hasSplitCounts }: Objects,
  idCount = ids.length,
): Buffer[] {
  const counts = Buffer.alloc(12);
  counts.writeUInt32LE(idCount, 0);
  counts.writeUInt32LE(names.length, 4);
  counts.writeUInt32LE(bytes.length, 8);
  if (hasSplitCounts) frames.push(counts.subarray(0, 4), counts.subarray(4, 8), counts.subarray(8));
  else frames.push(counts);
  for (const id of ids) frames.push(id);
  for (const name of names) frames.push(name);
  for (const part of bytes) frames.push(part);
  return frames;
}

/** Frames in one piece of memory of their own. */
export function ownFrames(frames: readonly Buffer[]): Buffer[] {
  const all = Buffer.concat(frames);
  let at = 0;
  return frames.map((frame) => {
    at += frame.length;
    return all.subarray(at - frame.length, at);
  });
}

/** An outcome that leaves nothing. */
export function plainResult(task: Buffer, status: TaskStatus): TaskResult {
  return { type: "task-result", task, status, metadata: none, results: [] };
}
