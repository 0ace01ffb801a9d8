// The frames of a message: its type in the first one, then frames whose sizes and number are
// checked here. A peer's mistake is returned as a value.

import type { WireFrames } from "../wire-frames.js";
import type {
  ObjectAnswer,
  Reading,
  ScalerFault,
  ScalerWire,
  TaskMessage,
  TaskResult,
  TaskStatus,
} from "./messages.js";

/** The two letters of the first frame, read as one number. */
export type TypeCode = number;

export function codeOf(letters: string): TypeCode {
  return Buffer.from(letters).readUInt16BE();
}

export function typeOf(frames: WireFrames): TypeCode | undefined {
  if (frames.count === 0 || frames.lengthOf(0) !== 2) return undefined;
  const [bytes, at] = [frames.bufferOf(0), frames.startOf(0)] as const;
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
}

export const none = Buffer.alloc(0);

type Refused = { readonly ok: false; readonly fault: ScalerFault };

/** One object per fault, because a hostile peer may cause a million of them. */
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

/**
 * [scaler 1.3] Applies to identities, task ids and object ids. A ZeroMQ identity cannot be longer.
 */
const idBytesMax = 255;

export function isId(frame: Buffer | undefined): frame is Buffer {
  return frame !== undefined && frame.length > 0 && frame.length <= idBytesMax;
}

export function isIdIn(frames: WireFrames, frame: number): boolean {
  if (frame >= frames.count) return false;
  const length = frames.lengthOf(frame);
  return length > 0 && length <= idBytesMax;
}

export function areIds(frames: readonly Buffer[]): boolean {
  for (const frame of frames) if (!isId(frame)) return false;
  return true;
}

/** The same for the frames from..to of a message. */
export function areIdsIn(frames: WireFrames, from: number, to: number): boolean {
  for (let frame = from; frame < to; frame++) if (!isIdIn(frames, frame)) return false;
  return true;
}

/** The letter of a one-byte frame; undefined for any other frame. */
export function letterOf(frame: Buffer | undefined): string | undefined {
  return frame?.length === 1 ? (letters[frame[0] ?? 0] ?? "") : undefined;
}

/** The same for a frame of a message; undefined beyond its end. */
export function letterIn(frames: WireFrames, frame: number): string | undefined {
  if (frame >= frames.count || frames.lengthOf(frame) !== 1) return undefined;
  return letters[frames.bufferOf(frame)[frames.startOf(frame)] as number] ?? "";
}

const letters = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const letterFrames = letters.map((letter) => Buffer.from(letter));

export function letterFrame(letter: string): Buffer {
  return letterFrames[letter.charCodeAt(0)] ?? none;
}

const statuses = new Set("SFCNKWIRX");

export function statusOf(letter: string | undefined): TaskStatus | undefined {
  return letter !== undefined && statuses.has(letter) ? (letter as TaskStatus) : undefined;
}

export function pushTask(frames: Buffer[], message: TaskMessage): Buffer[] {
  frames.push(message.task, message.source, message.metadata, message.function);
  for (const { kind, id } of message.arguments) frames.push(letterFrame(kind), id);
  return frames;
}

/** Ids, names and bytes, preceded by their three counts. */
export type Objects = Pick<ObjectAnswer, "ids" | "names" | "bytes" | "hasSplitCounts">;

/** The three counts, and the first frame after them. */
export interface ObjectCounts {
  readonly ids: number;
  readonly names: number;
  readonly bytes: number;
  readonly first: number;
  readonly hasSplitCounts: boolean;
}

/** [scaler 1.5] If the counts do not match the frames, the whole message is refused. */
export function readCounts(frames: WireFrames, at: number): Reading<ObjectCounts> {
  if (at >= frames.count) return refused("frame_count");
  const hasSplitCounts = frames.lengthOf(at) === 4;
  const first = at + (hasSplitCounts ? 3 : 1);
  if (hasSplitCounts && !(frames.count >= first && frames.lengthOf(at + 1) + frames.lengthOf(at + 2) === 8))
    return refused("field_size");
  if (!hasSplitCounts && frames.lengthOf(at) !== 12) return refused("field_size");
  const blob = hasSplitCounts ? Buffer.concat(frames.slices(at, first)) : frames.bufferOf(at);
  const from = hasSplitCounts ? 0 : frames.startOf(at);
  const [ids, names, bytes] = [u32At(blob, from), u32At(blob, from + 4), u32At(blob, from + 8)] as const;
  if (ids + names + bytes !== frames.count - first) return refused("counts_differ");
  if (!areIdsIn(frames, first, first + ids)) return refused("id_size");
  return read({ ids, names, bytes, first, hasSplitCounts });
}

/** As `readUInt32LE`, without its checks. */
function u32At(bytes: Uint8Array, at: number): number {
  const [one, two, three, four] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]] as number[];
  return (
    (one as number) + (two as number) * 0x100 + (three as number) * 0x1_0000 + (four as number) * 0x100_0000
  );
}

/** `idCount` is the total number of ids when more follow than are pushed here. */
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

/** Copies the frames into one buffer of their own. */
export function ownFrames(frames: readonly Buffer[]): Buffer[] {
  const all = Buffer.concat(frames);
  let at = 0;
  return frames.map((frame) => {
    at += frame.length;
    return all.subarray(at - frame.length, at);
  });
}

export function isProgram(wire: ScalerWire): boolean {
  return wire === "r" || wire === "r-packed";
}

/** An outcome without a result. */
export function plainResult(task: Buffer, status: TaskStatus): TaskResult {
  return { type: "task-result", task, status, metadata: none, results: [] };
}
