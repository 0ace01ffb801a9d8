// The delay before connecting again: doubling up to a maximum, with jitter so that a restarted
// server is not met by all its clients at once.

export interface BackoffSettings {
  readonly firstMs: number;
  readonly maxMs: number;
}

// Short enough that a restart is hardly noticed, and long enough that a thousand clients of a dead
// server cost nothing.
export const defaultBackoff: BackoffSettings = { firstMs: 100, maxMs: 5_000 };

/**
 * `failures`: number of failures in a row, from 1. `chance`: in 0..1. Returns between half the step
 * and the whole step.
 */
export function backoffMs(settings: BackoffSettings, failures: number, chance: number): number {
  const step = Math.min(settings.maxMs, settings.firstMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(step * (0.5 + chance / 2));
}
