// When submissions were acknowledged. The longest time between two is the outage that clients saw.

import { setTimeout as pause } from "node:timers/promises";

const lookMs = 10;

export class Acknowledgements {
  count = 0;
  #lastAt: number | undefined;
  /** The longest time between two, in milliseconds. */
  longestMs = 0;

  note(): void {
    const now = performance.now();
    if (this.#lastAt !== undefined) this.longestMs = Math.max(this.longestMs, now - this.#lastAt);
    this.#lastAt = now;
    this.count += 1;
  }

  /** Forgets the longest time so far. */
  measure(): void {
    this.longestMs = 0;
    this.#lastAt = performance.now();
  }

  /** Waits for submissions that are acknowledged from now on. */
  async more(count: number): Promise<void> {
    for (const target = this.count + count; this.count < target; ) await pause(lookMs);
  }
}
