// Bounds the PONGs that wait for a peer that sends PINGs and reads nothing.

import type { SendQueue } from "./send-queue.js";

/** A peer that takes long to read what is being written to it sends fewer PINGs meanwhile. */
const pongsPerWrite = 100;

export class PongLimit {
  /** PONGs that wait behind this write of the queue. */
  #waiting = 0;
  #write = 0;

  /** Counts one more PONG. False if too many wait. */
  hasRoomBehind({ isWriting, writes }: Pick<SendQueue, "isWriting" | "writes">): boolean {
    if (writes !== this.#write) this.#waiting = 0;
    this.#write = writes;
    if (isWriting) this.#waiting += 1;
    return this.#waiting <= pongsPerWrite;
  }
}
