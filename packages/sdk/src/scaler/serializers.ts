// Converts values to the bytes of objects and back. A program may add its own; both ends agree by
// name.

import { Packr } from "msgpackr";

/** How arguments and results become bytes. */
export interface ScalerSerializer {
  /** The name by which function objects refer to it. */
  readonly name: string;
  write(value: unknown): Uint8Array;
  /** Throws for bytes of another format. */
  read(bytes: Buffer): unknown;
}

/** Values as JSON. */
export const jsonSerializer: ScalerSerializer = {
  name: "json",
  // A value that JSON cannot represent (undefined, a function) becomes null, as it does inside an
  // array.
  write: (value) => Buffer.from(JSON.stringify(value) ?? "null"),
  read: (bytes) => JSON.parse(bytes.toString()),
};

/** Bytes inside values are copied, because a worker keeps what it reads for later tasks. */
const packer = new Packr({ useRecords: false, copyBuffers: true });

/** Values as MessagePack. */
export const messagePackSerializer: ScalerSerializer = {
  name: "msgpack",
  write: (value) => packer.pack(value),
  read: (bytes) => packer.unpack(bytes),
};

/** Unchanged bytes: for tasks of other doors, and for programs with their own format. */
export const bytesSerializer: ScalerSerializer = {
  name: "bytes",
  write: (value) => {
    if (value instanceof Uint8Array) return value;
    if (typeof value === "string") return Buffer.from(value);
    throw new TypeError("the bytes serializer takes a Uint8Array or a string");
  },
  // A copy, for the same reason: a function may modify its arguments.
  read: (bytes) => Buffer.from(bytes),
};

/** Supported by every worker. */
export const builtInSerializers: readonly ScalerSerializer[] = [
  jsonSerializer,
  messagePackSerializer,
  bytesSerializer,
];

export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
