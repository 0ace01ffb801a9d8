// Counts over a fixed number of recent time steps, in a ring.

import type { Instant } from "@yardmaster/core";

export class Trend {
  readonly stepMs: number;
  readonly #counts: Uint32Array;
  /** The step that was counted last. */
  #step = 0;

  constructor(stepMs: number, steps: number) {
    this.stepMs = stepMs;
    this.#counts = new Uint32Array(steps);
  }

  add(now: Instant): void {
    this.#move(now);
    const index = this.#step % this.#counts.length;
    this.#counts[index] = (this.#counts[index] as number) + 1;
  }

  /** Oldest first; the last is the step under way. */
  points(now: Instant): number[] {
    this.#move(now);
    const { length } = this.#counts;
    return Array.from(this.#counts, (_, index) => this.#counts[(this.#step + 1 + index) % length] as number);
  }

  sum(now: Instant): number {
    this.#move(now);
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  #move(now: Instant): void {
    const step = Math.floor(now / this.stepMs);
    const { length } = this.#counts;
    if (step - this.#step >= length) this.#counts.fill(0);
    else for (let next = this.#step + 1; next <= step; next += 1) this.#counts[next % length] = 0;
    if (step > this.#step) this.#step = step;
  }
}
