// An object's bytes in the engine, as memos of bounded size. They are read piece by piece, either
// to be streamed or to be collected.

import { createHash } from "node:crypto";

/** [scaler 8.3] Maximum size of one memo. */
export const pieceBytesMax = 1024 * 1024;
/** Maximum size of an id within a memo's name. A longer id is replaced by its digest. */
const namedBytesMax = 72;

/** Describes content that is in the engine. */
export interface StoredPlace {
  readonly size: number;
  /** SHA-256 of the bytes; empty if an earlier release stored them. */
  readonly digest: Buffer;
  /** True once the object was replaced or dropped: its name may now refer to other content. */
  isGone: boolean;
}

/** Reads a memo. Gives undefined if it does not exist or cannot be read. */
export type ReadMemo = (name: string, take: (bytes: Uint8Array | undefined) => void) => void;

/** An object's bytes as a frame: in memory, or read while they are sent. */
export type ObjectFrame = Buffer | StoredBytes;

/**
 * One pass over stored bytes, from the first piece to the last. `end` is called when the reader
 * needs no more.
 */
export class StoredBytes {
  readonly length: number;
  readonly #id: Buffer;
  readonly #place: StoredPlace;
  readonly #readMemo: ReadMemo;
  #onEnd: (() => void) | undefined;
  #at = 0;

  constructor(id: Buffer, place: StoredPlace, readMemo: ReadMemo, onEnd: () => void) {
    this.length = place.size;
    this.#id = id;
    this.#place = place;
    this.#readMemo = readMemo;
    this.#onEnd = onEnd;
  }

  /** Gives the next piece, or undefined if it is not what was stored. */
  pull(take: (piece: Uint8Array | undefined) => void): void {
    const size = Math.min(pieceBytesMax, this.length - this.#at);
    const name = pieceName(this.#id, this.#at / pieceBytesMax);
    this.#at += size;
    this.#readMemo(name, (bytes) => {
      take(this.#place.isGone || bytes?.length !== size ? undefined : bytes);
    });
  }

  end(): void {
    this.#onEnd?.();
    this.#onEnd = undefined;
  }

  /** Gives all the bytes in one buffer. */
  pullAll(take: (bytes: Buffer | undefined) => void): void {
    const all = Buffer.allocUnsafeSlow(this.length);
    let at = 0;
    const ended = (bytes: Buffer | undefined) => {
      this.end();
      take(bytes);
    };
    const next = (): void =>
      this.pull((piece) => {
        if (piece === undefined) return ended(undefined);
        all.set(piece, at);
        at += piece.length;
        if (at === all.length) ended(all);
        else next();
      });
    next();
  }
}

export function piecesOf(size: number): number {
  return Math.ceil(size / pieceBytesMax);
}

export function pieceName(id: Buffer, piece: number): string {
  return `${nameOf("p", id)}.${piece}`;
}

export function isPieceName(name: string): boolean {
  return name.startsWith("p.");
}

/** Name of the memo of an object, a piece of an object, a graph, or a node. */
export function nameOf(kind: "o" | "p" | "g" | "n", ...ids: Buffer[]): string {
  const bytes = ids.reduce((sum, id) => sum + id.length, 0);
  if (bytes <= namedBytesMax) return `${kind}.${ids.map((id) => id.toString("hex")).join(".")}`;
  const digest = createHash("sha256");
  for (const id of ids) digest.update(u32(id.length)).update(id);
  return `${kind}.${digest.digest("hex")}`;
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
