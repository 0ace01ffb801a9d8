// Feeds large bodies to the store's thread. One request is under way at a time, and each is one
// transaction with a sync. So a request combines small bodies. Of a large body it takes one
// stretch, and other bodies go before the next stretch, so they do not wait for all of it.

import type { TaskId } from "@yardmaster/core";
import type { BodyPart } from "../engine.js";
import { pieceBytes } from "./store-bodies.js";
import type { BodyStretch } from "./store-messages.js";

/**
 * Maximum size of a stretch, and the size at which a request takes no further bodies. Copying this
 * much takes a fraction of a millisecond.
 */
const stretchBytes = 16 * pieceBytes;

interface WaitingBody {
  readonly task: TaskId;
  readonly part: BodyPart;
  /** Undefined to delete the body. */
  readonly bytes: Uint8Array | undefined;
  /** Offset of the first byte that is not in the store. */
  from: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class BodyFeed {
  readonly #write: (stretches: readonly BodyStretch[], transferred: ArrayBuffer[]) => Promise<unknown>;
  /** In the order in which their next stretch is written. */
  readonly #waiting: WaitingBody[] = [];
  #isWriting = false;

  constructor(write: (stretches: readonly BodyStretch[], transferred: ArrayBuffer[]) => Promise<unknown>) {
    this.#write = write;
  }

  /** Resolves when all bytes are in the store, or, without bytes, when the body is deleted. */
  put(task: TaskId, part: BodyPart, bytes: Uint8Array | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ task, part, bytes, from: 0, resolve, reject });
      if (!this.#isWriting) void this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    // Bodies that are put in the same turn go into the same request.
    await undefined;
    while (this.#waiting.length > 0) {
      const bodies = this.#takeGroup();
      const stretches = bodies.map(stretchOf);
      try {
        await this.#write(
          stretches,
          stretches.flatMap(({ bytes }) => bytes ?? []),
        );
      } catch (error) {
        for (const { reject } of bodies) reject(error);
        continue;
      }
      for (const body of bodies) {
        body.from += stretchBytes;
        if (body.from < (body.bytes?.length ?? 0)) this.#waiting.push(body);
        else body.resolve();
      }
    }
    this.#isWriting = false;
  }

  #takeGroup(): WaitingBody[] {
    let [count, bytes] = [0, 0];
    for (const body of this.#waiting) {
      if (bytes >= stretchBytes) break;
      count += 1;
      bytes += Math.min((body.bytes?.length ?? 0) - body.from, stretchBytes);
    }
    return this.#waiting.splice(0, count);
  }
}

function stretchOf({ task, part, bytes, from }: WaitingBody): BodyStretch {
  if (bytes === undefined) return { task, part, from, bytes: undefined };
  const start = bytes.byteOffset + from;
  const end = bytes.byteOffset + Math.min(bytes.length, from + stretchBytes);
  return { task, part, from, bytes: bytes.buffer.slice(start, end) as ArrayBuffer };
}
