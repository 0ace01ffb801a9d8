// A queue's signal, as on a railway: clear, behind, stopped, paused, draining, later; with the
// words that stand beside it.

import type { Queue } from "../live/api-shapes.js";
import { count } from "./numbers.js";
import { clockMinutes, duration } from "./time.js";

export type Signal = "clear" | "behind" | "stopped" | "paused" | "draining" | "later";

/** All workers busy is no trouble until the oldest task has waited this long. */
export const behindAfterMs = 10_000;

const later = ["delayed", "backoff", "blocked", "limited", "recovering"];

export function signalOf(queue: Queue, now: number): Signal {
  if (queue.paused) return "paused";
  const reasons = queue.waitingBy;
  if ((reasons.no_worker ?? 0) > 0 || (reasons.does_not_fit ?? 0) > 0) return "stopped";
  if (queue.draining) return "draining";
  if (queue.oldestAt !== null && now - Date.parse(queue.oldestAt) > behindAfterMs) return "behind";
  if (queue.waiting > 0 && later.some((reason) => (reasons[reason] ?? 0) > 0) && startable(queue) === 0) {
    return "later";
  }
  return "clear";
}

export function startable(queue: Queue): number {
  return (queue.waitingBy.all_busy ?? 0) + (queue.waitingBy.no_worker ?? 0);
}

const reasonWords: ReadonlyMap<string, string> = new Map([
  ["no_worker", "no worker"],
  ["all_busy", "workers busy"],
  ["delayed", "delayed"],
  ["paused", "paused"],
  ["backoff", "backoff"],
  ["draining", "draining"],
  ["recovering", "recovering"],
  ["does_not_fit", "too large for its workers"],
  ["blocked", "wait for other tasks"],
  ["limited", "limited"],
]);

export function reasonText(code: string): string {
  return reasonWords.get(code) ?? code.replaceAll("_", " ");
}

/** What stands on the track behind the signal where nothing runs. */
export function trackNote(queue: Queue, signal: Signal, now: number): string {
  if (signal === "paused") {
    const ago = queue.pausedAt === null ? "" : ` ${duration(roundedAge(queue.pausedAt, now))} ago`;
    return `paused${ago}${queue.pausedBy === null ? "" : ` by ${queue.pausedBy}`}`;
  }
  if (signal === "stopped") {
    if ((queue.waitingBy.no_worker ?? 0) === 0) return "too large for its workers";
    return queue.workers > 0 ? "none of its workers asks" : "no worker serves it";
  }
  if (signal === "draining") return "draining: nothing new is accepted";
  if (signal === "later") return laterNote(queue);
  return "";
}

function laterNote(queue: Queue): string {
  const [code = "delayed"] = Object.keys(queue.waitingBy).filter((reason) => later.includes(reason));
  return !queue.nextAt
    ? reasonText(code)
    : `${reasonText(code)}, starts ${clockMinutes(Date.parse(queue.nextAt))}`;
}

/** Whole minutes from the first on: a note on the track need not tick. */
function roundedAge(at: string, now: number): number {
  const ms = Math.max(0, now - Date.parse(at));
  return ms < 60_000 ? ms : Math.floor(ms / 60_000) * 60_000;
}

/** "1,197 workers busy, 7 backoff"; one reason alone has no number. */
export function whyParts(queue: Queue): { code: string; words: string }[] {
  const reasons = Object.entries(queue.waitingBy).filter(([, tasks]) => tasks > 0);
  if (reasons.length === 1) return reasons.map(([code]) => ({ code, words: reasonText(code) }));
  return reasons.map(([code, tasks]) => ({ code, words: `${count(tasks)} ${reasonText(code)}` }));
}

/** Trouble first; used where the user has chosen no order. */
export function troubleRank(signal: Signal): number {
  return ["stopped", "paused", "behind", "draining", "later", "clear"].indexOf(signal);
}
