// The words and figures of the page, for a terminal: durations, rates, signals of queues and why
// tasks wait. The page's own are in dashboard/src/model, which is built for browsers; a test
// compares the two.

import type { Queue } from "@yardmaster/sdk";

/** "0.04 s", "3.2 s", "27 s", "1 min 28 s", "6 h 12 min", "3 days". */
export function duration(ms: number): string {
  const value = Math.max(0, ms);
  if (value < 10) return value === 0 ? "0 s" : `${trimmed((value / 1000).toFixed(3))} s`;
  if (value < 100) return `${trimmed((value / 1000).toFixed(2))} s`;
  if (value < 9_950) return `${trimmed((value / 1000).toFixed(1))} s`;
  if (value < 59_500) return `${Math.round(value / 1000)} s`;
  const seconds = Math.round(value / 1000);
  if (value < 3_599_500) return two(Math.floor(seconds / 60), "min", seconds % 60, "s");
  const minutes = Math.round(value / 60_000);
  if (value < 86_370_000) return two(Math.floor(minutes / 60), "h", minutes % 60, "min");
  const days = Math.floor(value / 86_400_000);
  return `${days} ${days === 1 ? "day" : "days"}`;
}

/** The age of the oldest task: "6:12", "0.2 s", "1:02:03". */
export function figureAge(ms: number): string {
  if (ms < 59_500) return duration(ms);
  const seconds = Math.round(ms / 1000);
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return h > 0 ? `${h}:${pad(m)}:${pad(s)}` : `${m}:${pad(s)}`;
}

/** A rate a second: two digits that count, never more than needed. */
export function rate(value: number): string {
  if (!(value > 0)) return "0";
  if (value < 0.095) return value.toFixed(2);
  if (value < 1) return trimmed(value.toFixed(2));
  if (value < 9.95) return trimmed(value.toFixed(1));
  return Math.round(value).toLocaleString("en-US");
}

/** "14:32:07", local. */
export function clock(at: number): string {
  const time = new Date(at);
  return `${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}`;
}

export type Signal = "clear" | "behind" | "stopped" | "paused" | "draining" | "later";

/** All workers busy is no trouble until the oldest task has waited this long. */
const behindAfterMs = 10_000;
const laterReasons = ["delayed", "backoff", "blocked", "limited", "recovering"];

export function signalOf(queue: Queue, now: number): Signal {
  if (queue.paused) return "paused";
  const { waitingBy: reasons, waiting, oldestAt } = queue;
  if ((reasons.no_worker ?? 0) > 0 || (reasons.does_not_fit ?? 0) > 0) return "stopped";
  if (queue.draining) return "draining";
  if (oldestAt !== null && now - Date.parse(oldestAt) > behindAfterMs) return "behind";
  const canStart = (reasons.all_busy ?? 0) > 0;
  if (waiting > 0 && !canStart && laterReasons.some((reason) => (reasons[reason] ?? 0) > 0)) return "later";
  return "clear";
}

const reasonWords: ReadonlyMap<string, string> = new Map([
  ["no_worker", "no worker"],
  ["all_busy", "all busy"],
  ["does_not_fit", "too large"],
  ["blocked", "waits for others"],
]);

/** Why the tasks of a queue wait, in a word or two; empty where nothing is wrong. */
export function shortWhy(queue: Queue, signal: Signal): string {
  if (signal === "clear") return "";
  if (signal === "paused" || signal === "draining") return signal;
  if (signal === "behind") return "all busy";
  const codes = Object.keys(queue.waitingBy).filter((code) => (queue.waitingBy[code] ?? 0) > 0);
  const code =
    signal === "stopped"
      ? codes.find((one) => one === "no_worker" || one === "does_not_fit")
      : codes.find((one) => laterReasons.includes(one));
  return reasonWords.get(code ?? "") ?? (code ?? "").replaceAll("_", " ");
}

function two(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
