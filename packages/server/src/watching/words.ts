// Figures for sentences: counts with separators, durations in their two largest units.

const secondMs = 1_000;
const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** 1234567 is 1,234,567. */
export function number(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** `3 tasks`, `1 task`. */
export function counted(value: number, noun: string): string {
  return `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** A verb that follows a count: `waits` for one, `wait` for more. */
export function verb(count: number, plural: string, singular = `${plural}s`): string {
  return count === 1 ? singular : plural;
}

/** `2 ms`, `0.4 s`, `51 s`, `1 min 28 s`, `54 min`, `2 h 5 min`, `3 days`. */
export function duration(ms: number): string {
  if (ms < 100) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10 * secondMs) return `${(ms / secondMs).toFixed(1).replace(/\.0$/, "")} s`;
  if (ms < minuteMs - 500) return `${Math.round(ms / secondMs)} s`;
  if (ms < 10 * minuteMs) return twoUnits(ms, minuteMs, "min", secondMs, "s");
  if (ms < hourMs - minuteMs / 2) return `${Math.round(ms / minuteMs)} min`;
  if (ms < dayMs) return twoUnits(ms, hourMs, "h", minuteMs, "min");
  const days = Math.round(ms / dayMs);
  return days === 1 ? "1 day" : `${days} days`;
}

/** Whole seconds, for a time that is counted down. */
export function seconds(ms: number): string {
  return ms < minuteMs ? `${Math.max(0, Math.round(ms / secondMs))} s` : duration(ms);
}

function twoUnits(ms: number, largeMs: number, large: string, smallMs: number, small: string): string {
  const smalls = Math.round(ms / smallMs);
  const perLarge = largeMs / smallMs;
  const rest = smalls % perLarge;
  return `${Math.floor(smalls / perLarge)} ${large}${rest === 0 ? "" : ` ${rest} ${small}`}`;
}
