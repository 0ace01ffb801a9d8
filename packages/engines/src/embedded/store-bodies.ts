// Bodies that lie apart from their record, in pieces: no value of the file is large, however large a body is.

import type { Body, TaskId } from "@yardmaster/core";
import type { BodyPart } from "../engine.js";
import { BadRecord, headerBytes } from "../records/index.js";
import { pieceKey } from "./keys.js";
import type { StoreFile } from "./store-file.js";

/** With its header and LMDB's it fills 16 pages, which are easy to find side by side in a file that has been in use. */
export const pieceBytes = 65_000;

export class StoreBodies {
  readonly #file: StoreFile;

  constructor(file: StoreFile) {
    this.#file = file;
  }

  /** Inside a transaction: a stretch of a body whose first byte is that of a piece. */
  write(task: TaskId, part: BodyPart, from: number, bytes: Uint8Array): void {
    if (from === 0) this.#file.looseBodies.put(pieceKey(task, part, 0), () => {});
    for (let at = 0; at < bytes.length || at === 0; at += pieceBytes) {
      const piece = (from + at) / pieceBytes;
      const end = at + pieceBytes;
      this.#file.bodies.put(pieceKey(task, part, piece), (to) => to.raw(bytes.subarray(at, end)));
    }
  }

  /** Inside a transaction: a record refers to it now. */
  keep(task: TaskId, part: BodyPart): void {
    this.#file.looseBodies.remove(pieceKey(task, part, 0));
  }

  /** Inside a transaction. */
  remove(task: TaskId, part: BodyPart): void {
    const start = Buffer.from(pieceKey(task, part, 0));
    this.#file.bodies.removeRange({ start, end: Buffer.from(pieceKey(task, part, 0xffff_ffff)) });
    this.#file.looseBodies.remove(start);
  }

  /** Copies pieces into `to` from byte `at` on, about so many bytes; where it stopped. */
  read(task: TaskId, part: BodyPart, to: Uint8Array, at: number, atMost: number): number {
    const stop = Math.min(to.length, at + atMost);
    let here = at;
    while (here < stop) {
      const key = pieceKey(task, part, here / pieceBytes);
      const bytes = this.#file.bodies.read(key);
      const size = Math.min(pieceBytes, to.length - here);
      if (bytes === undefined || bytes.length !== headerBytes + size) {
        throw new BadRecord(`${this.#file.bodies.nameOf(key)}: ${bytes ? "it is cut" : "it is not there"}`);
      }
      to.set(bytes.subarray(headerBytes, bytes.length), here);
      here += size;
    }
    return here;
  }
}

/** Whether a record's body has its bytes elsewhere. An empty one has none to have. */
export function isApart(body: Body | undefined): body is Body {
  return body !== undefined && body.bytes === undefined;
}
