// Parses and prints durations, times, sizes and counts as people write them.

import { InvalidArgumentError } from "commander";

const unitMs: ReadonlyMap<string, number> = new Map(
  Object.entries({ ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }),
);

/** For an option: `500ms`, `30s`, `5m`, `1h`, `2d`, in milliseconds. */
export function durationMs(written: string): number {
  const [, amount, unit = ""] = /^(\d{1,12}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(written) ?? [];
  if (amount === undefined) {
    throw new InvalidArgumentError(`expected a duration such as 500ms, 30s, 5m or 1h.`);
  }
  return Math.round(Number(amount) * (unitMs.get(unit) ?? 0));
}

/** The longest time of a timer: Node runs a longer one at once. */
const timerMsMax = 2 ** 31 - 1;

/** For an option that sets a timer. */
export function timerMs(written: string): number {
  return Math.min(durationMs(written), timerMsMax);
}

/** The same in the largest unit that leaves no fraction: `5m`, `90s`, `1d`. */
export function durationText(ms: number): string {
  const [unit, length] = [...unitMs].findLast(([, each]) => ms % each === 0) ?? ["ms", 1];
  return `${ms / length}${unit}`;
}

/** For an option: a time, or an age; returned as RFC 3339. */
export function timeText(written: string): string {
  if (/^\d+(\.\d+)?(ms|s|m|h|d)$/.test(written)) {
    return new Date(Date.now() - durationMs(written)).toISOString();
  }
  const time = /^\d{4}-\d\d-\d\d/.test(written) ? Date.parse(written) : Number.NaN;
  if (Number.isNaN(time)) {
    throw new InvalidArgumentError(
      "expected a time such as 2026-05-01T12:00:00Z, or how long ago: 5m, 2h, 1d.",
    );
  }
  return new Date(time).toISOString();
}

export function wholeNumber(from: number, to: number = Number.MAX_SAFE_INTEGER) {
  return (written: string): number => {
    const value = Number(written);
    if (/^-?\d+$/.test(written) && value >= from && value <= to) return value;
    const range = to === Number.MAX_SAFE_INTEGER ? `from ${from}` : `from ${from} to ${to}`;
    throw new InvalidArgumentError(`expected a whole number ${range}.`);
  };
}

/** `12,13`: the numbers of tasks. */
export function taskIds(written: string): readonly string[] {
  const ids = written.split(",").map((id) => id.trim());
  if (ids.every((id) => /^[1-9]\d{0,15}$/.test(id))) return ids;
  throw new InvalidArgumentError("expected the numbers of tasks, separated by commas.");
}

export function count(number: number): string {
  return Math.round(number).toLocaleString("en-US");
}

export function counted(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = "";
  for (const next of units) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

export function span(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

export function ago(time: string | null, now: number = Date.now()): string {
  return time === null ? "" : span(now - Date.parse(time));
}
