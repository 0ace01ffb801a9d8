// Timers and chance as the sockets use them: real by default, given from outside where a test wants to own them.

export interface Clock {
  /** Runs once, later; returns how to call it off. `keepsAlive` false lets the process end first. */
  after(delayMs: number, run: () => void, keepsAlive: boolean): () => void;
  /** Milliseconds from some moment on, with fractions: how long this turn of the event loop has taken. */
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
