// Memos, the records that doors keep across restarts, in pieces. Most are a few bytes, some are
// large, and each may be replaced at any time.

import type { MemoRecord } from "@yardmaster/core";
import { type LoadItem, loadedMemoBytesMax } from "../engine.js";
import { BadRecord, type RecordReader } from "../records/index.js";
import { memoKey } from "./keys.js";
import { pieceBytes } from "./store-bodies.js";
import type { StoreFile } from "./store-file.js";

export class StoreMemos {
  readonly #file: StoreFile;
  readonly #reader: RecordReader;

  constructor(file: StoreFile, reader: RecordReader) {
    this.#file = file;
    this.#reader = reader;
  }

  /** Call inside a transaction. The first piece holds the memo's length, door and name. */
  put({ door, name, bytes }: MemoRecord): void {
    const before = this.#piecesOf(door, name);
    const pieces = piecesFor(bytes.length);
    for (let piece = 0; piece < pieces; piece++) {
      this.#file.memos.put(memoKey(door, name, piece), (to) => {
        if (piece === 0) {
          to.string(door);
          to.string(name);
          to.number(bytes.length);
        }
        to.raw(bytes.subarray(piece * pieceBytes, (piece + 1) * pieceBytes));
      });
    }
    for (let piece = pieces; piece < before; piece++) this.#file.memos.remove(memoKey(door, name, piece));
  }

  /** Call inside a transaction. */
  remove(door: string, name: string): void {
    const before = this.#piecesOf(door, name);
    for (let piece = 0; piece < before; piece++) this.#file.memos.remove(memoKey(door, name, piece));
  }

  /** The items of a load: a large memo comes without its bytes. */
  *all(): Generator<LoadItem> {
    for (const key of this.#file.memos.keys()) {
      if (key.readUInt32BE(key.length - 4) !== 0) continue;
      const memo = this.#first(key) as FirstPiece;
      const { door, name, length } = memo;
      if (length <= loadedMemoBytesMax)
        yield { type: "memo", memo: { door, name, bytes: this.#whole(key, memo) } };
      else yield { type: "large-memo", door, name, size: length };
    }
  }

  bytesOf(door: string, name: string): Buffer | undefined {
    const key = memoKey(door, name, 0);
    const memo = this.#first(key);
    return memo && this.#whole(key, memo);
  }

  #whole(key: Buffer, { door, name, length, first }: FirstPiece): Buffer {
    const bytes = Buffer.alloc(length);
    bytes.set(first);
    for (let piece = 1; piece < piecesFor(length); piece++) {
      const pieceKey = memoKey(door, name, piece);
      const more = this.#file.memos.read(pieceKey);
      if (more === undefined)
        throw new BadRecord(`${this.#file.memos.nameOf(key)}: piece ${piece} is not there`);
      bytes.set(more.subarray(6, more.length), piece * pieceBytes);
    }
    return bytes;
  }

  #piecesOf(door: string, name: string): number {
    const first = this.#first(memoKey(door, name, 0));
    return first === undefined ? 0 : piecesFor(first.length);
  }

  #first(key: Buffer): FirstPiece | undefined {
    const record = this.#file.memos.read(key);
    if (record === undefined) return undefined;
    const reader = this.#reader;
    reader.begin(record, 0, record.length);
    const door = reader.string();
    const name = reader.string();
    const length = reader.number();
    return { door, name, length, first: Buffer.from(reader.raw(Math.min(length, pieceBytes))) };
  }
}

interface FirstPiece {
  readonly door: string;
  readonly name: string;
  readonly length: number;
  readonly first: Uint8Array;
}

function piecesFor(length: number): number {
  return Math.max(1, Math.ceil(length / pieceBytes));
}
