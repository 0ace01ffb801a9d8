// Times and durations as the page writes them. Times are local; the caller passes them as
// milliseconds since 1970.

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** "0.04 s", "3.2 s", "27 s", "1 min 28 s", "6 h 12 min", "3 days". */
export function duration(ms: number): string {
  const value = Math.max(0, ms);
  if (value < 10) return value === 0 ? "0 s" : `${trimmed((value / 1000).toFixed(3))} s`;
  if (value < 100) return `${trimmed((value / 1000).toFixed(2))} s`;
  if (value < 9_950) return `${trimmed((value / 1000).toFixed(1))} s`;
  if (value < minuteMs - 500) return `${Math.round(value / 1000)} s`;
  const seconds = Math.round(value / 1000);
  if (value < hourMs - 500) return two(Math.floor(seconds / 60), "min", seconds % 60, "s");
  const minutes = Math.round(value / minuteMs);
  if (value < dayMs - minuteMs / 2) return two(Math.floor(minutes / 60), "h", minutes % 60, "min");
  const days = Math.floor(value / dayMs);
  return `${days} ${days === 1 ? "day" : "days"}`;
}

/** As `duration`, with a tenth of a second up to a minute: how long one task took. */
export function fineDuration(ms: number): string {
  return ms >= 9_950 && ms < 59_950 ? `${trimmed((ms / 1000).toFixed(1))} s` : duration(ms);
}

/** The large figure of the oldest task: "6:12", "0.2 s", "1:02:03". */
export function figureAge(ms: number): string {
  if (ms < minuteMs - 500) return duration(ms);
  const seconds = Math.round(ms / 1000);
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const tail = `${h > 0 ? pad(m) : m}:${pad(s)}`;
  return h > 0 ? `${h}:${tail}` : tail;
}

/** "14:32:07" */
export function clock(at: number): string {
  const time = new Date(at);
  return `${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}`;
}

/** "14:32" */
export function clockMinutes(at: number): string {
  return clock(at).slice(0, 5);
}

/** "14:32:07.104" */
export function clockMs(at: number): string {
  return `${clock(at)}.${String(Math.floor(at) % 1000).padStart(3, "0")}`;
}

/** For a task's facts: the day in words where it is near, else the date. */
export function dayAndClock(at: number, now: number): string {
  const days = Math.round((startOfDay(now) - startOfDay(at)) / dayMs);
  const time = clockMs(at);
  if (days === 0) return `Today ${time}`;
  if (days === 1) return `Yesterday ${time}`;
  return `${isoDay(at)} ${time}`;
}

/** Hovering over a time shows this: with the date and the zone. */
export function fullTime(at: number): string {
  const minutes = -new Date(at).getTimezoneOffset();
  const sign = minutes < 0 ? "−" : "+";
  const zone = `${sign}${pad(Math.floor(Math.abs(minutes) / 60))}:${pad(Math.abs(minutes) % 60)}`;
  return `${isoDay(at)} ${clockMs(at)} UTC${zone}`;
}

/** "since 14:22", "since yesterday", "since 6 days ago". */
export function sinceWords(at: number, now: number): string {
  const days = Math.round((startOfDay(now) - startOfDay(at)) / dayMs);
  if (days <= 0) return `since ${clockMinutes(at)}`;
  return days === 1 ? "since yesterday" : `since ${days} days ago`;
}

/** Reads "10s", "5m", "1h", "7d", "500ms"; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,12}(?:\.\d+)?)\s*(ms|s|m|min|h|d)$/.exec(text.trim());
  if (!match) return undefined;
  const unit = new Map([
    ["ms", 1],
    ["s", secondMs],
    ["m", minuteMs],
    ["min", minuteMs],
    ["h", hourMs],
    ["d", dayMs],
  ]).get(match[2] ?? "");
  return Number(match[1]) * (unit ?? Number.NaN);
}

/** Round steps for a time axis: the smallest that gives at most `ticksMax` of them. */
export function timeStep(spanMs: number, ticksMax: number): number {
  const steps = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800,
    3600, 7200, 14400, 43200, 86400,
  ];
  for (const seconds of steps) if (spanMs / (seconds * 1000) <= ticksMax) return Math.round(seconds * 1000);
  return 86_400_000 * Math.ceil(spanMs / 86_400_000 / ticksMax);
}

function two(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

function startOfDay(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}

function isoDay(at: number): string {
  const time = new Date(at);
  return `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())}`;
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
