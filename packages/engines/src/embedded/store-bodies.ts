// Bodies that are stored out of line, in pieces, so that no value in the file is large.

import type { Body, TaskId } from "@yardmaster/core";
import type { BodyPart } from "../engine.js";
import { BadRecord, headerBytes } from "../records/index.js";
import { pieceKey } from "./keys.js";
import type { StoreFile } from "./store-file.js";

/**
 * With its header and LMDB's, a piece fills 16 pages. So few adjacent free pages are easy to find
 * in a file that has been in use.
 */
export const pieceBytes = 65_000;

export class StoreBodies {
  readonly #file: StoreFile;

  constructor(file: StoreFile) {
    this.#file = file;
  }

  /** Call inside a transaction. `from` is a multiple of the piece size. */
  write(task: TaskId, part: BodyPart, from: number, bytes: Uint8Array): void {
    if (from === 0) this.#file.looseBodies.put(pieceKey(task, part, 0), () => {});
    for (let at = 0; at < bytes.length || at === 0; at += pieceBytes) {
      const piece = (from + at) / pieceBytes;
      const end = at + pieceBytes;
      this.#file.bodies.put(pieceKey(task, part, piece), (to) => to.raw(bytes.subarray(at, end)));
    }
  }

  /** Call inside a transaction, when a record refers to the body. */
  keep(task: TaskId, part: BodyPart): void {
    this.#file.looseBodies.remove(pieceKey(task, part, 0));
  }

  /** Inside a transaction. */
  remove(task: TaskId, part: BodyPart): void {
    const start = Buffer.from(pieceKey(task, part, 0));
    this.#file.bodies.removeRange({ start, end: Buffer.from(pieceKey(task, part, 0xffff_ffff)) });
    this.#file.looseBodies.remove(start);
  }

  /** Inside a transaction. A loose body was put anew, for a record of this task that follows. */
  removeUnlessLoose(task: TaskId, part: BodyPart): void {
    if (!this.#file.looseBodies.has(pieceKey(task, part, 0))) this.remove(task, part);
  }

  /** Copies pieces into `to` from byte `at` on, about `atMost` bytes. Returns where it stopped. */
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

/** True if the bytes are stored outside the record. An empty body has none. */
export function isOutOfLine(body: Body | undefined): body is Body {
  return body !== undefined && body.bytes === undefined;
}
