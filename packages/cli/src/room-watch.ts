// Says that submitting waits for room in a full queue: on a live line at a terminal, otherwise
// once.

import type { BatchAnswer } from "@yardmaster/sdk";
import { span } from "./amounts.js";
import { warn } from "./command.js";
import type { Progress } from "./progress.js";

/** A shorter wait is ordinary backpressure and is not mentioned. */
const tellMs = 1_000;

export class RoomWatch {
  readonly #progress: Progress;
  readonly #waitMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isTold = false;

  constructor(progress: Progress, waitMs: number) {
    this.#progress = progress;
    this.#waitMs = waitMs;
  }

  answered({ queue, accepted, full }: BatchAnswer): void {
    if (accepted > 0) this.close();
    if (full === 0 || this.#timer !== undefined) return;
    const since = performance.now();
    this.#timer = setInterval(() => this.#tell(queue, performance.now() - since), tellMs);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#progress.clear();
  }

  #tell(queue: string, ms: number): void {
    const limit = `gives up after ${span(this.#waitMs)} without an accepted task (--wait-for-room)`;
    if (this.#progress.isShown)
      this.#progress.say(`queue ${queue} is full: waiting for room for ${span(ms)}; ${limit}`);
    else if (!this.#isTold) warn(`queue ${queue} is full: waiting for room; ${limit}`);
    this.#isTold = true;
  }
}
