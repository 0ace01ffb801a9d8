// Messages to protobuf and back, for both ends, and the length in front of them. The four messages are small and will not
// change, so they are read field by field; a field that is not theirs is passed over, as protobuf asks.

import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
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

/** The varint fields 1 to 4; one that is absent is 0, and `seen` has its bit not set. */
interface Fields {
  readonly values: [bigint, bigint, bigint, bigint, bigint];
  seen: number;
}

function readFields(bytes: Uint8Array, last: number): Fields | undefined {
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

/** An enum is an int32 on the wire, a negative one in ten bytes. */
function enumOf(value: bigint): number {
  return Number(BigInt.asIntN(32, value));
}

/** Writes a field that is not 0; an optional one that is given whatever it is. */
class MessageWriter {
  readonly #writer = new BinaryWriter();

  enum(field: number, value: number): this {
    if (value !== 0) this.#writer.tag(field, WireType.Varint).int32(value);
    return this;
  }

  id(field: number, value: bigint): this {
    return value === 0n ? this : this.optional(field, value);
  }

  optional(field: number, value: bigint | undefined): this {
    if (value !== undefined) this.#writer.tag(field, WireType.Varint).uint64(value);
    return this;
  }

  framed(): Buffer {
    const message = this.#writer.finish();
    const bytes = Buffer.allocUnsafe(prefixBytes + message.length);
    bytes.writeUInt32LE(message.length, 0);
    bytes.writeUInt32LE(0, 4);
    bytes.set(message, prefixBytes);
    return bytes;
  }
}

/** `numberingOf` is asked with the number that stands for the pulse's type, and the worker's id. */
export function readPulse(
  bytes: Uint8Array,
  numberingOf: (type: number, workerId: bigint) => Numbering,
): Reading<WorkerPulse & { readonly numbering: Numbering }> {
  const fields = readFields(bytes, 4);
  if (fields === undefined) return badMessage;
  const [, type, workerId, taskId, nextPulse] = fields.values;
  const number = enumOf(type);
  const numbering = numberingOf(number, workerId);
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
  return { ok: true, message: { error: word, ...(isSeen(fields, 2) && { workerId }) } };
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
  return { ok: true, message: { type: word, extraSize, ...(isSeen(fields, 3) && { taskId }) } };
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
