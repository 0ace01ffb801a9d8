// The sockets' timers and randomness: real by default, injected by tests.

export interface Clock {
  /**
   * Runs once, later, and returns a function that cancels it. `keepsAlive` false lets the process
   * end before.
   */
  after(delayMs: number, run: () => void, keepsAlive: boolean): () => void;
  /**
   * Milliseconds since an arbitrary moment, with fractions. Used to measure a turn of the event
   * loop.
   */
  elapsed(): number;
  /** In 0..1. */
  random(): number;
}

export const realClock: Clock = {
  after(delayMs, run, keepsAlive) {
    const timer = setTimeout(run, delayMs);
    if (!keepsAlive) timer.unref();
    return () => clearTimeout(timer);
  },
  elapsed: () => performance.now(),
  random: () => Math.random(),
};
