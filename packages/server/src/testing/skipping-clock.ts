// For tests: the real clock, and time that a test skips. Timers that are due by then run at once,
// so a test need not sleep until a deadline has passed.

import { type Clock, realClock } from "../clock.js";

/** Shorter than what the yard's clock takes for a stall, in which no time passes for the core. */
const stepMs = 50;

interface Timer {
  readonly dueAt: number;
  readonly run: () => void;
}

export class SkippingClock implements Clock {
  #skippedMs = 0;
  readonly #timers = new Set<Timer>();

  instant(): number {
    return realClock.instant() + this.#skippedMs;
  }

  wall(): number {
    return realClock.wall() + this.#skippedMs;
  }

  defer(work: () => void): void {
    realClock.defer(work);
  }

  setTimer(ms: number, work: () => void): () => void {
    const cancel = () => {
      this.#timers.delete(timer);
      cancelReal();
    };
    const run = () => {
      cancel();
      work();
    };
    const timer: Timer = { dueAt: this.instant() + ms, run };
    this.#timers.add(timer);
    const cancelReal = realClock.setTimer(ms, run);
    return cancel;
  }

  /**
   * Skips time in small steps, each with a turn of the event loop, until `now` has advanced by
   * `ms`. `now` reads the clock of the core, which leaves out stalls of a busy machine.
   */
  async skip(ms: number, now: () => number): Promise<void> {
    const end = now() + ms;
    while (now() < end) {
      this.#skippedMs += stepMs;
      for (const timer of [...this.#timers]) if (timer.dueAt <= this.instant()) timer.run();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
