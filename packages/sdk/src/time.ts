// Real time for sessions, which take it as an argument.

import { performance } from "node:perf_hooks";
import type { Instant, Moment, WallTime } from "@yardmaster/dialects";

export function now(): Moment {
  return { instant: performance.now() as Instant, wall: Date.now() as WallTime };
}

/** A longer timer would fire at once. */
const timerMsMax = 2_147_483_647;

/** A caller's time for a timer: `Infinity` is as good as for ever. */
export function timerMs(ms: number): number {
  return Math.min(ms, timerMsMax);
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
