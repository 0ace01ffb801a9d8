// Time, behind an interface so that the simulator can control it.

import { performance } from "node:perf_hooks";

export interface Clock {
  /** Milliseconds, monotonic. */
  instant(): number;
  /** Milliseconds since 1970. */
  wall(): number;
  /**
   * Runs `work` once, at the end of this turn of the event loop, when all available input was read.
   */
  defer(work: () => void): void;
  /**
   * Runs `work` once after this many milliseconds, unless the returned function is called before.
   */
  setTimer(ms: number, work: () => void): () => void;
}

export const realClock: Clock = {
  instant: () => performance.now(),
  wall: () => Date.now(),
  defer: (work) => {
    setImmediate(work);
  },
  setTimer: (ms, work) => {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};
