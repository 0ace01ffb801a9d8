// How long to wait before connecting again: doubling, with a ceiling, and with jitter so that a restarted server is
// not met by everybody at once.

export interface BackoffSettings {
  readonly firstMs: number;
  readonly maxMs: number;
}

// Quick enough that a restart is hardly felt; slow enough that a thousand clients of a dead server cost nothing.
export const defaultBackoff: BackoffSettings = { firstMs: 100, maxMs: 5_000 };

/** `failures` in a row, from 1; `chance` in 0..1. Between half the step and the whole. */
export function backoffMs(settings: BackoffSettings, failures: number, chance: number): number {
  const step = Math.min(settings.maxMs, settings.firstMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(step * (0.5 + chance / 2));
}
