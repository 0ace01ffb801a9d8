// The yard's own time: the clock's, less what the process slept through. While we were stalled nobody could be heard, so
// that time counts against nobody. One timer serves every deadline there is; how late it comes is how long we stalled.

import type { Instant, Moment, WallTime } from "@yardmaster/core";
import type { Clock } from "./clock.js";

/** The timer is never set further ahead: a stall can be measured only from the last time we are known to have run. */
const tickMsMax = 200;
/** Later than this is a stall; below it is what garbage collection and a busy loop cost every day. */
const stallMsMin = 100;

export class YardClock {
  readonly #clock: Clock;
  readonly #onTick: () => void;
  #stalledMs = 0;
  #moment: Moment | undefined;
  #timer: { dueAt: number; readonly cancel: () => void } | undefined;

  /** `onTick` runs when a deadline may be due, or a little before. */
  constructor(clock: Clock, onTick: () => void) {
    this.#clock = clock;
    this.#onTick = onTick;
  }

  /** How long the process has been stalled, all in all. */
  get stalledMs(): number {
    return this.#stalledMs;
  }

  /** One reading for all that happens in a turn. */
  now(): Moment {
    this.#moment ??= this.#read();
    return this.#moment;
  }

  /** The first reading after a stall finds the timer overdue, whoever asks first: time must not run ahead and then back. */
  #read(): Moment {
    const real = this.#clock.instant();
    const lateMs = this.#timer === undefined ? 0 : real - this.#timer.dueAt;
    if (this.#timer !== undefined && lateMs >= stallMsMin) {
      this.#stalledMs += lateMs;
      this.#timer.dueAt = real;
    }
    return { instant: (real - this.#stalledMs) as Instant, wall: this.#clock.wall() as WallTime };
  }

  endTurn(): void {
    this.#moment = undefined;
  }

  /** Sees to it that `onTick` runs by then. */
  wakeAt(deadline: Instant | undefined): void {
    if (deadline === undefined) return;
    const real = this.#clock.instant();
    const ms = Math.min(Math.max(0, deadline + this.#stalledMs - real), tickMsMax);
    if (this.#timer !== undefined) {
      if (this.#timer.dueAt <= real + ms) return;
      this.#timer.cancel();
    }
    // Node's timers count whole milliseconds and may come early by a part of one.
    const cancel = this.#clock.setTimer(Math.ceil(ms), () => this.#tick());
    this.#timer = { dueAt: real + ms, cancel };
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #tick(): void {
    this.#moment = this.#read();
    this.#timer = undefined;
    this.#onTick();
  }
}
