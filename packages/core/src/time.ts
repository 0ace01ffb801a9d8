// Time as the core sees it. Two kinds that must not be mixed: `Instant` only ever grows and is what deadlines are
// made of; `WallTime` is what people read and what survives a restart.

declare const instant: unique symbol;
declare const wallTime: unique symbol;

/** Milliseconds of the yard's own clock. Monotonic; stands still while the process was stalled. */
export type Instant = number & { readonly [instant]: true };

/** Milliseconds since 1970, as the wall clock said. May jump; never used to wait. */
export type WallTime = number & { readonly [wallTime]: true };

/** One reading of both clocks, taken once a turn. */
export interface Moment {
  readonly instant: Instant;
  readonly wall: WallTime;
}

export function after(start: Instant, ms: number): Instant {
  return (start + ms) as Instant;
}

export function later(start: WallTime, ms: number): WallTime {
  return (start + ms) as WallTime;
}

/** The instant at which the wall clock will say `wall`, if it does not jump. */
export function instantOf(wall: WallTime, now: Moment): Instant {
  return (now.instant + (wall - now.wall)) as Instant;
}
