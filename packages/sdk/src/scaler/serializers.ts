// How values become the bytes of objects and back. An end may bring its own; what the two ends agree on is a name.

import { Packr } from "msgpackr";

export interface ScalerSerializer {
  /** By which function objects say how their arguments are written. */
  readonly name: string;
  write(value: unknown): Uint8Array;
  /** Throws at bytes that are not its own. */
  read(bytes: Buffer): unknown;
}

export const jsonSerializer: ScalerSerializer = {
  name: "json",
  // What JSON has no word for (undefined, a function) is null, as it is within an array.
  write: (value) => Buffer.from(JSON.stringify(value) ?? "null"),
  read: (bytes) => JSON.parse(bytes.toString()),
};

/** Bytes within are copied: a worker keeps what it reads for the tasks to come. */
const packer = new Packr({ useRecords: false, copyBuffers: true });

export const messagePackSerializer: ScalerSerializer = {
  name: "msgpack",
  write: (value) => packer.pack(value),
  read: (bytes) => packer.unpack(bytes),
};

/** Bytes as they are: for tasks that other doors took in, and for who has a format of its own. */
export const bytesSerializer: ScalerSerializer = {
  name: "bytes",
  write: (value) => {
    if (value instanceof Uint8Array) return value;
    if (typeof value === "string") return Buffer.from(value);
    throw new TypeError("the bytes serializer takes a Uint8Array or a string");
  },
  // A copy, for the same reason: a function may write into what it is given.
  read: (bytes) => Buffer.from(bytes),
};

/** Known to every worker. */
export const builtInSerializers: readonly ScalerSerializer[] = [
  jsonSerializer,
  messagePackSerializer,
  bytesSerializer,
];

export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
