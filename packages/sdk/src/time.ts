// Real time for sessions, which take it as an argument.

import { performance } from "node:perf_hooks";
import type { Instant, Moment, WallTime } from "@yardmaster/dialects";

export function now(): Moment {
  return { instant: performance.now() as Instant, wall: Date.now() as WallTime };
}

/** One timer for a session's next deadline. */
export class SessionTimer {
  readonly #work: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(work: () => void) {
    this.#work = work;
  }

  wakeAt(deadline: Instant | undefined): void {
    clearTimeout(this.#timer);
    if (deadline === undefined) return;
    this.#timer = setTimeout(this.#work, Math.max(0, Math.ceil(deadline - performance.now())));
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
