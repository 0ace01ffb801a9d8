// The number of events in a window of time that ends now, from two counters: that of the current
// window, and that of the previous one weighted by the part that still counts. At a steady rate
// this is exact.

import type { Instant } from "./time.js";

/**
 * A window over a total that its owner counts. So an event costs one addition and one comparison,
 * however many windows there are.
 */
export class SlidingWindow {
  readonly windowMs: number;
  #start = Number.NEGATIVE_INFINITY;
  /** The total at the start of the window. */
  #totalBefore = 0;
  /** Events of the previous window. */
  #before = 0;

  constructor(windowMs: number) {
    this.windowMs = windowMs;
  }

  /** From this time on, `roll` must be called before an event is counted. */
  get endsAt(): number {
    return this.#start + this.windowMs;
  }

  roll(now: Instant, total: number): void {
    if (now < this.endsAt) return;
    const isNext = now - this.#start < 2 * this.windowMs;
    this.#before = isNext ? total - this.#totalBefore : 0;
    this.#start = isNext ? this.#start + this.windowMs : now;
    this.#totalBefore = total;
  }

  /** Events within the window that ends now. */
  count(now: Instant, total: number): number {
    const { windowMs } = this;
    const elapsed = now - this.#start;
    const count = total - this.#totalBefore;
    if (elapsed < windowMs) return count + this.#before * (1 - Math.max(0, elapsed) / windowMs);
    return elapsed < 2 * windowMs ? count * (2 - elapsed / windowMs) : 0;
  }

  perSecond(now: Instant, total: number): number {
    return (this.count(now, total) * 1000) / this.windowMs;
  }
}

/** Events, and how many of them are in one window. */
export class SlidingCount {
  readonly #window: SlidingWindow;
  #total = 0;
  #rollAt = Number.NEGATIVE_INFINITY;

  constructor(windowMs: number) {
    this.#window = new SlidingWindow(windowMs);
  }

  add(now: Instant): void {
    if (now >= this.#rollAt) this.#roll(now);
    this.#total += 1;
  }

  count(now: Instant): number {
    return this.#window.count(now, this.#total);
  }

  perSecond(now: Instant): number {
    return this.#window.perSecond(now, this.#total);
  }

  #roll(now: Instant): void {
    this.#window.roll(now, this.#total);
    this.#rollAt = this.#window.endsAt;
  }
}
