// The world's time, behind an interface so that the simulator can own it.

import { performance } from "node:perf_hooks";

export interface Clock {
  /** Milliseconds, monotonic. */
  instant(): number;
  /** Milliseconds since 1970. */
  wall(): number;
  /** Runs `work` once, when this turn of the event loop has taken in what there was to take in. */
  defer(work: () => void): void;
  /** Runs `work` once after so long; the function returned prevents it. */
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
