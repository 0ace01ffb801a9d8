// Reads and writes the protobuf messages of both ends, with their length prefix. The four messages
// are small and will not change, so they are decoded field by field. Unknown fields are skipped, as
// protobuf requires.

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import type {
  ControlMessage,
  Numbering,
  PulseResponse,
  Reading,
  WorkerPulse,
  WorkerResponse,
} from "./messages.js";
import { controllerWords, controlWords, pulseWords, workerWords } from "./numbering.js";

/** [pulse 1.2] Eight bytes, little-endian. */
export const prefixBytes = 8;

const badMessage = { ok: false, fault: "bad_message" } as const;

/** The varint fields 1 to 4. An absent one is 0 and its bit in `seen` is not set. */
interface Fields {
  readonly values: [bigint, bigint, bigint, bigint, bigint];
  seen: number;
}

function readFields(bytes: Uint8Array, last: number): Fields | undefined {
  return readPlainFields(bytes, last) ?? readAnyFields(bytes, last);
}

/**
 * Fast path for nearly all messages: only known fields, none longer than seven varint bytes.
 * Undefined for any other message.
 */
function readPlainFields(bytes: Uint8Array, last: number): Fields | undefined {
  const fields: Fields = { values: [0n, 0n, 0n, 0n, 0n], seen: 0 };
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at++] as number;
    const field = tag >> 3;
    if (tag >= 0x80 || (tag & 7) !== WireType.Varint || field < 1 || field > last) return undefined;
    let value = 0;
    let unit = 1;
    let byte = 0x80;
    while (byte >= 0x80) {
      if (at >= bytes.length || unit > plainUnitMax) return undefined;
      byte = bytes[at++] as number;
      value += (byte & 0x7f) * unit;
      unit *= 0x80;
    }
    fields.values[field as 1 | 2 | 3 | 4] = BigInt(value);
    fields.seen |= 1 << field;
  }
  return fields;
}

/** The weight of the last of seven varint bytes. */
const plainUnitMax = 0x80 ** 6;

function readAnyFields(bytes: Uint8Array, last: number): Fields | undefined {
  const fields: Fields = { values: [0n, 0n, 0n, 0n, 0n], seen: 0 };
  try {
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      const [field, wireType] = reader.tag();
      if (field > last || wireType !== WireType.Varint) reader.skip(wireType, field);
      else {
        fields.values[field as 1 | 2 | 3 | 4] = BigInt(reader.uint64());
        fields.seen |= 1 << field;
      }
    }
    return reader.pos === reader.len ? fields : undefined;
  } catch {
    return undefined;
  }
}

/** An enum is an int32 on the wire. A negative one takes ten bytes. */
function enumOf(value: bigint): number {
  return Number(BigInt.asIntN(32, value));
}

/**
 * Room for four fields of a tag and ten bytes, and the length prefix. One message is written at a
 * time.
 */
const scratch = Buffer.alloc(prefixBytes + 44);

/** Writes a field if it is not 0. An optional field that is given is always written. */
class MessageWriter {
  #at = prefixBytes;

  enum(field: number, value: number): this {
    return value === 0 ? this : this.optional(field, BigInt(value));
  }

  id(field: number, value: bigint): this {
    return value === 0n ? this : this.optional(field, value);
  }

  optional(field: number, value: bigint | undefined): this {
    if (value === undefined) return this;
    scratch[this.#at++] = field << 3;
    // 64 bits, as protobuf requires for negative values as well. Numbers are used where they are
    // exact, because they are cheaper.
    let rest = BigInt.asUintN(64, value);
    for (; rest > exactMax; rest >>= 7n) scratch[this.#at++] = Number(rest & 0x7fn) | 0x80;
    let number = Number(rest);
    for (; number > 0x7f; number = Math.floor(number / 0x80)) scratch[this.#at++] = (number % 0x80) | 0x80;
    scratch[this.#at++] = number;
    return this;
  }

  framed(): Buffer {
    const bytes = Buffer.allocUnsafe(this.#at);
    bytes.set(this.#at === scratch.length ? scratch : scratch.subarray(0, this.#at));
    bytes.writeUInt32LE(this.#at - prefixBytes, 0);
    bytes.writeUInt32LE(0, 4);
    return bytes;
  }
}

const exactMax = BigInt(Number.MAX_SAFE_INTEGER);

/** `numberingOf` is called with the number of the pulse's type and the ids of worker and task. */
export function readPulse(
  bytes: Uint8Array,
  numberingOf: (type: number, workerId: bigint, taskId: bigint) => Numbering,
): Reading<WorkerPulse & { readonly numbering: Numbering }> {
  const fields = readFields(bytes, 4);
  if (fields === undefined) return badMessage;
  const [, type, workerId, taskId, nextPulse] = fields.values;
  const number = enumOf(type);
  const numbering = numberingOf(number, workerId, taskId);
  return {
    ok: true,
    message: { type: pulseWords.wordOf(number, numbering), workerId, taskId, nextPulse, numbering },
  };
}

export function writePulse(pulse: WorkerPulse, numbering: Numbering): Buffer {
  return new MessageWriter()
    .enum(1, pulseWords.numberOf(pulse.type, numbering))
    .id(2, pulse.workerId)
    .id(3, pulse.taskId)
    .id(4, pulse.nextPulse)
    .framed();
}

export function readPulseResponse(bytes: Uint8Array, numbering: Numbering): Reading<PulseResponse> {
  const fields = readFields(bytes, 2);
  if (fields === undefined) return badMessage;
  const [, error, workerId] = fields.values;
  const word = controllerWords.wordOf(enumOf(error), numbering);
  return { ok: true, message: isSeen(fields, 2) ? { error: word, workerId } : { error: word } };
}

export function writePulseResponse(response: PulseResponse, numbering: Numbering): Buffer {
  return new MessageWriter()
    .enum(1, controllerWords.numberOf(response.error, numbering))
    .optional(2, response.workerId)
    .framed();
}

export function readControl(bytes: Uint8Array, numbering: Numbering): Reading<ControlMessage> {
  const fields = readFields(bytes, 3);
  if (fields === undefined) return badMessage;
  const [, type, extraSize, taskId] = fields.values;
  const word = controlWords.wordOf(enumOf(type), numbering);
  const message = { type: word, extraSize };
  return { ok: true, message: isSeen(fields, 3) ? { ...message, taskId } : message };
}

export function writeControl(message: ControlMessage, numbering: Numbering): Buffer {
  return new MessageWriter()
    .enum(1, controlWords.numberOf(message.type, numbering))
    .id(2, message.extraSize)
    .optional(3, message.taskId)
    .framed();
}

export function readWorkerResponse(bytes: Uint8Array, numbering: Numbering): Reading<WorkerResponse> {
  const fields = readFields(bytes, 3);
  if (fields === undefined) return badMessage;
  const [, error, taskId, extraSize] = fields.values;
  return { ok: true, message: { error: workerWords.wordOf(enumOf(error), numbering), taskId, extraSize } };
}

export function writeWorkerResponse(response: WorkerResponse, numbering: Numbering): Buffer {
  return new MessageWriter()
    .enum(1, workerWords.numberOf(response.error, numbering))
    .id(2, response.taskId)
    .id(3, response.extraSize)
    .framed();
}

function isSeen(fields: Fields, field: number): boolean {
  return (fields.seen & (1 << field)) !== 0;
}
