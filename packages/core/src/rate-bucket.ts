// The token bucket of a queue: every attempt that is given out takes a token, and tokens come back
// evenly. The state is one number, the time at which the bucket is full again. It is committed with
// the assignments that changed it, so a restart never gives out more than the limit.

import { Deadline } from "./deadlines.js";
import type { Rate } from "./limits.js";
import { type Change, coreMemoDoor } from "./records.js";
import type { Step } from "./step.js";
import { after, type Instant, instantOf, later, type Moment, type WallTime } from "./time.js";
import type { Timed } from "./timed.js";

/** Tolerance for rounding errors: a token that is due within a microsecond counts as there. */
const roundingMs = 0.001;

export class RateBucket {
  readonly #queue: string;
  rate: Rate;
  /** When it is full again. In the past: it is full. */
  #fullAt = 0 as Instant;
  #fullAtWall = 0 as WallTime;
  /** True while it has no token. Its deadline is then armed. */
  isEmpty = false;
  /** When it has a token again. */
  readonly deadline: Deadline<Timed>;
  /** The step that will record it, if it has changed since the last one. */
  step: Step | undefined = undefined;

  constructor(queue: string, rate: Rate, subject: Timed) {
    this.#queue = queue;
    this.rate = rate;
    this.deadline = new Deadline<Timed>(subject);
  }

  /** When the next token is there. */
  get nextAt(): Instant {
    return after(this.#fullAt, this.#tokenMs - this.rate.perMs);
  }

  get #tokenMs(): number {
    return this.rate.perMs / this.rate.tasks;
  }

  take(now: Moment): void {
    const from = this.#fullAt > now.instant ? this.#fullAt : now.instant;
    this.#set(after(from, this.#tokenMs), now);
  }

  /**
   * `fullAt` is the committed time. It is limited to that of an empty bucket, because the clock may
   * have been set back.
   */
  restore(fullAt: WallTime, now: Moment): void {
    this.#set(instantOf(fullAt, now), now);
    this.bound(now);
  }

  /** With a new rate, earlier starts count for at most one whole bucket. */
  bound(now: Moment): void {
    const latest = after(now.instant, this.rate.perMs);
    this.#set(this.#fullAt > latest ? latest : this.#fullAt, now);
  }

  toChange(): Change {
    const bytes = new TextEncoder().encode(String(this.#fullAtWall));
    return { kind: "memo", memo: { door: coreMemoDoor, name: rateMemo(this.#queue), bytes } };
  }

  #set(fullAt: Instant, now: Moment): void {
    this.#fullAt = fullAt;
    this.#fullAtWall = later(now.wall, fullAt - now.instant);
    this.isEmpty = this.nextAt > now.instant + roundingMs;
  }
}

export function rateMemo(queue: string): string {
  return `rate/${queue}`;
}
