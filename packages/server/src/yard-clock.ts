// The yard's own time: the clock's time without stalls of the process. During a stall no peer can
// be heard, so that time counts against none. One timer serves all deadlines, and its lateness
// measures the stall.

import type { Instant, Moment, WallTime } from "@yardmaster/core";
import type { Clock } from "./clock.js";

/**
 * The timer is never set further ahead, because a stall can only be measured from the last time the
 * process is known to have run.
 */
const tickMsMax = 200;
/**
 * A timer that is later than this shows a stall. Garbage collection and a busy event loop cost
 * less.
 */
const stallMsMin = 100;

/** Number of stalls kept for the API. */
const stallsMax = 64;

export interface Stall {
  /** When the process should have run but did not. */
  readonly at: WallTime;
  readonly ms: number;
}

export class YardClock {
  readonly #clock: Clock;
  readonly #onTick: () => void;
  #stalledMs = 0;
  readonly #stalls: Stall[] = [];
  #moment: Moment | undefined;
  #timer: { dueAt: number; readonly cancel: () => void } | undefined;
  /**
   * When this turn read the clock without a timer that would show a stall of the turn itself: a
   * tick has used its timer up, and a yard without deadlines has none.
   */
  #unwatchedSince: number | undefined;

  /** `onTick` runs when a deadline may be due, or a little before. */
  constructor(clock: Clock, onTick: () => void) {
    this.#clock = clock;
    this.#onTick = onTick;
  }

  /** Total duration of all stalls. */
  get stalledMs(): number {
    return this.#stalledMs;
  }

  /** The last stalls, oldest first. */
  get stalls(): readonly Stall[] {
    return this.#stalls;
  }

  /** One reading for everything that happens in a turn. */
  now(): Moment {
    this.#moment ??= this.#read();
    return this.#moment;
  }

  /**
   * The first reading after a stall notices the overdue timer, so that time never jumps ahead and
   * back.
   */
  #read(): Moment {
    const real = this.#clock.instant();
    if (this.#timer === undefined) this.#unwatchedSince ??= real;
    else this.#measure(this.#timer.dueAt, real);
    return { instant: (real - this.#stalledMs) as Instant, wall: this.#clock.wall() as WallTime };
  }

  /** The process should have run at `dueAt`. What was late is counted once. */
  #measure(dueAt: number, real: number): void {
    const lateMs = real - dueAt;
    if (lateMs < stallMsMin) return;
    this.#stalledMs += lateMs;
    this.#stalls.push({ at: Math.round(this.#clock.wall() - lateMs) as WallTime, ms: Math.round(lateMs) });
    if (this.#stalls.length > stallsMax) this.#stalls.shift();
    if (this.#timer !== undefined) this.#timer.dueAt = Math.max(this.#timer.dueAt, real);
  }

  endTurn(): void {
    this.#moment = undefined;
    if (this.#unwatchedSince === undefined) return;
    this.#measure(this.#unwatchedSince, this.#clock.instant());
    this.#unwatchedSince = undefined;
  }

  /** Ensures that `onTick` runs by then. */
  wakeAt(deadline: Instant | undefined): void {
    if (deadline === undefined) return;
    const real = this.#clock.instant();
    const ms = Math.min(Math.max(0, deadline + this.#stalledMs - real), tickMsMax);
    if (this.#timer !== undefined) {
      if (this.#timer.dueAt <= real + ms) return;
      this.#timer.cancel();
    }
    // Node's timers use whole milliseconds and may fire a fraction of one early.
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
    this.#unwatchedSince = this.#clock.instant();
    this.#onTick();
  }
}

export function isDue(deadline: Instant | undefined, now: Moment): boolean {
  return deadline !== undefined && deadline <= now.instant;
}
