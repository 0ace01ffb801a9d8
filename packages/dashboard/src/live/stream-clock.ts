// The time at the stream's right edge. It runs a little behind the dispatcher, so that what is
// drawn up to it is known: an attempt never has to be drawn shorter than it was.

import type { Yard } from "./yard.js";

/** A little more than the interval between frames of attempts. */
const behindMs = 350;

export class StreamClock {
  readonly #yard: Yard;
  #last = 0;

  constructor(yard: Yard) {
    this.#yard = yard;
  }

  /** Never goes back, and never beyond what is known. */
  right(): number {
    const known = this.#yard.busy.lastTo;
    if (known === undefined) return this.#yard.now();
    const wanted = Math.min(known, this.#yard.now() - behindMs);
    if (Math.abs(wanted - this.#last) > 10_000) this.#last = wanted;
    this.#last = Math.max(this.#last, wanted);
    return this.#last;
  }
}
