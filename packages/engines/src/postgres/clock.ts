// Time and timers, behind an interface so that the simulator can control them.

export interface Clock {
  /** Milliseconds, monotonic. */
  now(): number;
  /** Runs `work` once, unless the returned function is called before. */
  setTimer(ms: number, work: () => void): () => void;
  /** The same with a timer that does not keep the process alive. */
  setIdleTimer(ms: number, work: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer: (ms, work) => cancelOf(setTimeout(work, ms)),
  setIdleTimer: (ms, work) => cancelOf(setTimeout(work, ms).unref()),
};

function cancelOf(timer: NodeJS.Timeout): () => void {
  return () => clearTimeout(timer);
}

export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => clock.setTimer(ms, resolve));
}
