// The keys under which records lie. Numbers go first byte first, so that LMDB's order of bytes is their order.
//
// A key made here is good until the next one is made: most are written or looked up at once, and a buffer each would be
// most of the garbage of a commit.

import { createHash } from "node:crypto";
import type { TaskId } from "@yardmaster/core";
import type { BodyPart } from "../engine.js";

/** LMDB takes 1,978; what is longer than this is kept under its digest, and its record says in full what it is. */
const textBytesMax = 1900;

const idBytes = 6;
const idKeyScratch = Buffer.alloc(idBytes);
const pieceKeyScratch = Buffer.alloc(idBytes + 5);
const separator = 0;

/** A task's, a segment's or a block's. */
export function numberKey(number: number): Buffer {
  idKeyScratch.writeUIntBE(number, 0, idBytes);
  return idKeyScratch;
}

export function numberOfKey(key: Buffer): number {
  return key.readUIntBE(0, idBytes);
}

const partNumbers = { payload: 0, result: 1 } as const;

/** One piece of a body. */
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

/** Texts one after another, told apart by a zero byte. */
export function textKey(...texts: readonly string[]): Buffer {
  const key = Buffer.from(texts.join("\0"));
  return key.length <= textBytesMax ? key : createHash("sha256").update(key).digest();
}

/** One piece of a memo. */
export function memoKey(door: string, name: string, piece: number): Buffer {
  const text = textKey(door, name);
  const key = Buffer.alloc(text.length + 5);
  text.copy(key);
  key.writeUInt32BE(piece, text.length + 1);
  return key;
}

export const idMax = 2 ** (8 * idBytes) - 1;

/** The bundle of tasks from one id to another. */
export function bundleKey(first: number, last: number): Buffer {
  const key = Buffer.alloc(2 * idBytes);
  key.writeUIntBE(first, 0, idBytes);
  key.writeUIntBE(last, idBytes, idBytes);
  return key;
}

export function tasksOfBundle(key: Buffer): { readonly first: TaskId; readonly last: TaskId } {
  return { first: numberOfKey(key) as TaskId, last: key.readUIntBE(idBytes, idBytes) as TaskId };
}

/** A task under its idempotency key: all of one key lie together, by rising id. */
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

/** What a block of tasks has under a term; without a term, where the block's begin. */
export function termKey(block: number, term = ""): Buffer {
  const key = Buffer.alloc(idBytes + Buffer.byteLength(term));
  key.writeUIntBE(block, 0, idBytes);
  key.write(term, idBytes);
  return key;
}
