// The keys of records. Numbers are big-endian, so that LMDB's byte order is their numeric order.
//
// Some keys share a buffer and are valid until the next key is made. Most are used at once, and a
// buffer for each would be most of the garbage of a commit.

import { createHash } from "node:crypto";
import type { TaskId } from "@yardmaster/core";
import type { BodyPart } from "../engine.js";

/**
 * LMDB allows 1,978 bytes. A longer key is replaced by its digest; the record contains the full
 * text.
 */
const textBytesMax = 1900;

const idBytes = 6;
const idKeyScratch = Buffer.alloc(idBytes);
const pieceKeyScratch = Buffer.alloc(idBytes + 5);
const separator = 0;

/** The key of a task, a segment or a block. */
export function numberKey(number: number): Buffer {
  idKeyScratch.writeUIntBE(number, 0, idBytes);
  return idKeyScratch;
}

export function numberOfKey(key: Buffer): number {
  return key.readUIntBE(0, idBytes);
}

const partNumbers = { payload: 0, result: 1 } as const;

/** The key of one piece of a body. */
export function pieceKey(task: TaskId, part: BodyPart, piece: number): Buffer {
  pieceKeyScratch.writeUIntBE(task, 0, idBytes);
  pieceKeyScratch[idBytes] = partNumbers[part];
  pieceKeyScratch.writeUInt32BE(piece, idBytes + 1);
  return pieceKeyScratch;
}

export function bodyOfKey(key: Buffer): { readonly task: TaskId; readonly part: BodyPart } {
  return {
    task: numberOfKey(key) as TaskId,
    part: key[idBytes] === partNumbers.payload ? "payload" : "result",
  };
}

/** The key of one or more texts, separated by a zero byte. */
export function textKey(...texts: readonly string[]): Buffer {
  const key = Buffer.from(texts.join("\0"));
  return key.length <= textBytesMax ? key : createHash("sha256").update(key).digest();
}

/** The key of one piece of a memo. */
export function memoKey(door: string, name: string, piece: number): Buffer {
  const text = textKey(door, name);
  const key = Buffer.alloc(text.length + 5);
  text.copy(key);
  key.writeUInt32BE(piece, text.length + 1);
  return key;
}

export const idMax = 2 ** (8 * idBytes) - 1;

/** The key of a bundle: its first and its last task id. */
export function bundleKey(first: number, last: number): Buffer {
  const key = Buffer.alloc(2 * idBytes);
  key.writeUIntBE(first, 0, idBytes);
  key.writeUIntBE(last, idBytes, idBytes);
  return key;
}

export function tasksOfBundle(key: Buffer): { readonly first: TaskId; readonly last: TaskId } {
  return { first: numberOfKey(key) as TaskId, last: key.readUIntBE(idBytes, idBytes) as TaskId };
}

/** A task under its idempotency key. All tasks of one key are adjacent, by rising id. */
export function taskKeyKey(text: string, task: number): Buffer {
  const own = textKey(text);
  const key = Buffer.alloc(own.length + 1 + idBytes);
  own.copy(key);
  key[own.length] = separator;
  key.writeUIntBE(task, own.length + 1, idBytes);
  return key;
}

export function taskOfTaskKey(key: Buffer): TaskId {
  return key.readUIntBE(key.length - idBytes, idBytes) as TaskId;
}

/** The key of a block's tasks with a term. Without a term, where the block's terms start. */
export function termKey(block: number, term = ""): Buffer {
  const key = Buffer.alloc(idBytes + Buffer.byteLength(term));
  key.writeUIntBE(block, 0, idBytes);
  key.write(term, idBytes);
  return key;
}
