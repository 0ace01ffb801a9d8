// The two kinds of time in the core, which must not be mixed. `Instant` is monotonic and used for
// deadlines. `WallTime` is shown to people and survives a restart.

declare const instant: unique symbol;
declare const wallTime: unique symbol;

/**
 * Milliseconds of the yard's own clock. Monotonic; does not advance while the process is stalled.
 */
export type Instant = number & { readonly [instant]: true };

/** Milliseconds since 1970 by the wall clock. May jump; never used to wait. */
export type WallTime = number & { readonly [wallTime]: true };

/** One reading of both clocks, taken once per turn. */
export interface Moment {
  readonly instant: Instant;
  readonly wall: WallTime;
}

export function after(start: Instant, ms: number): Instant {
  return (start + ms) as Instant;
}

/** The first of two deadlines, of which either may not be set. */
export function earlier(one: Instant | undefined, other: Instant | undefined): Instant | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other < one ? other : one;
}

export function later(start: WallTime, ms: number): WallTime {
  return (start + ms) as WallTime;
}

/** The instant at which the wall clock will reach `wall`, if it does not jump. */
export function instantOf(wall: WallTime, now: Moment): Instant {
  return (now.instant + (wall - now.wall)) as Instant;
}

/** The wall-clock time at this instant, if the clock does not jump. */
export function wallOf(instant: Instant | undefined, now: Moment): WallTime | undefined {
  return instant === undefined ? undefined : ((now.wall + (instant - now.instant)) as WallTime);
}
