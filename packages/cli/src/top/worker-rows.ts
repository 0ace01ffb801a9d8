// The workers of `top`: those in trouble first, how long each has been silent and may be, and a
// line for the rest.

import type { WorkerView } from "@yardmaster/sdk";
import { count, counted } from "../amounts.js";
import { cut, paint, printable, shownWidth } from "../terminal.js";
import { type Cell, lineOf } from "./columns.js";
import { duration } from "./page-words.js";
import { bar, signalSign } from "./signs.js";
import type { TopYard } from "./top-yard.js";

const wideColumns = 112;

interface WorkerColumns {
  readonly isWide: boolean;
  readonly name: number;
  readonly queue: number;
  readonly runningEnd: number;
  readonly barWidth: number;
}

function columnsFor(width: number): WorkerColumns {
  const isWide = width >= wideColumns;
  const name = 19 + Math.min(30, Math.max(0, width - (isWide ? 120 : 80)));
  const queue = isWide ? 16 : 10;
  return { isWide, name, queue, runningEnd: name + queue + 13, barWidth: isWide ? 14 : 10 };
}

export function workerHead(width: number): string {
  const { isWide, name, queue, runningEnd: end } = columnsFor(width);
  const cells: Cell[] = [
    { text: "worker", at: 0, width: name },
    { text: "queue", at: name + 3, width: queue },
    { text: "running", at: end, width: 9, right: true },
    { text: "done/m", at: end + 8, width: 7, right: true },
    { text: isWide ? "last heard, of limit" : "last heard", at: end + 10, width: isWide ? 24 : width },
  ];
  if (isWide) cells.push({ text: "says of itself", at: end + 34, width });
  return paint("bold", lineOf(cells, width));
}

export function workerRow(yard: TopYard, worker: WorkerView, width: number, now: number): string {
  const { isWide, name, queue, runningEnd: end } = columnsFor(width);
  const beat = yard.beats.get(worker.id);
  const running = beat?.running ?? worker.running;
  const isDraining = worker.state === "draining";
  const cells: Cell[] = [
    { text: " ", at: 0, width: 1, paint: () => sign(yard, worker, now) },
    { text: worker.id, at: 2, width: name },
    { text: queueNames(worker, queue), at: name + 3, width: queue },
    {
      text: runningWords(worker, running),
      at: end,
      width: 9,
      right: true,
    },
    { text: beat && !isDraining ? count(beat.donePerMinute) : "", at: end + 8, width: 7, right: true },
    { text: heard(yard, worker, width, now), at: end + 10, width: isWide ? 23 : width },
  ];
  if (isWide) cells.push({ text: says(worker), at: end + 34, width });
  return lineOf(cells, width);
}

/** A worker that pulls has no slots; thousands of slots mean as much. */
function runningWords({ pulls, slots }: WorkerView, running: number): string {
  return pulls || slots >= 1_000 ? count(running) : `${count(running)} of ${count(slots)}`;
}

/** All of them where they fit, else the first. */
function queueNames({ queues }: WorkerView, width: number): string {
  const all = queues.join(", ");
  return all === "" ? "any" : shownWidth(all) <= width ? all : (queues[0] ?? "");
}

function sign(yard: TopYard, worker: WorkerView, now: number): string {
  if (worker.state === "draining") return signalSign("draining");
  return yard.trouble(worker, now) <= 2 ? signalSign("behind") : " ";
}

function heard(yard: TopYard, worker: WorkerView, width: number, now: number): string {
  const { isWide, barWidth } = columnsFor(width);
  if (worker.state === "draining" && !isWide) return "draining";
  const beat = yard.beats.get(worker.id);
  if (!beat) return "not heard of yet";
  if (beat.limitMs === null) return isWide ? "owes no beat at work" : "at work";
  const ms = Math.max(0, now - beat.lastSeenAtMs);
  return `${bar(yard.silence(worker.id, now) ?? 0, barWidth)} ${duration(ms < 10_000 ? Math.floor(ms / 100) * 100 : Math.floor(ms / 1000) * 1000)}`;
}

function says({ state, info }: WorkerView): string {
  if (state === "draining") return "draining";
  return Object.entries(info ?? {})
    .filter(([, value]) => typeof value !== "object")
    .map(([key, value]) => (value === true ? key : `${key} ${value}`))
    .join(", ");
}

export interface WorkerList {
  readonly workers: readonly WorkerView[];
  readonly lines: readonly string[];
  readonly rest: string;
}

/** `room` is without the line for the rest. */
export function workerRows(yard: TopYard, width: number, room: number, now: number, filter = ""): WorkerList {
  const workers = yard.rankedWorkers(now, filter);
  const shown = workers.slice(0, Math.max(0, room));
  if (workers.length === 0) {
    const words =
      filter === "" ? "No worker is here. yardmaster work starts one." : "No worker has this in its name.";
    return { workers: [], lines: [words], rest: lostWords(yard, width) };
  }
  return {
    workers: shown,
    lines: shown.map((worker) => workerRow(yard, worker, width, now)),
    rest: restWords(yard, workers, shown.length, width),
  };
}

function restWords(yard: TopYard, workers: readonly WorkerView[], shown: number, width: number): string {
  const rest = workers.slice(shown);
  const idle = rest.filter(({ state }) => state === "idle").length;
  // Events tell of 2,000 workers; the figure counts all of them.
  const unseen = workers.length < 2_000 ? 0 : Math.max(0, (yard.figures?.workers ?? 0) - workers.length);
  const more = rest.length + unseen;
  const words = more === 0 ? "" : `${count(more)} more, ${idle === 0 ? "none" : count(idle)} of them idle`;
  const lost = lostWords(yard, width).trim();
  return cut(`  ${[words, lost].filter((part) => part !== "").join("; ")}`, width).trimEnd();
}

function lostWords(yard: TopYard, width: number): string {
  const total = yard.figures?.workersLost ?? yard.lost.length;
  if (total === 0) return "";
  if (width < wideColumns || yard.lost.length === 0) return `  ${count(total)} lost in the last hour`;
  const times = new Map<string, number>();
  for (const { id } of yard.lost) times.set(id, (times.get(id) ?? 0) + 1);
  // The newest loss of each.
  const newest = [...times].slice(0, 4).flatMap(([id]) => yard.lost.find((lost) => lost.id === id) ?? []);
  const named = newest.map(({ id, reason, backAt }) => {
    const often = (times.get(id) ?? 1) > 1 ? `${count(times.get(id) ?? 1)} times, ` : "";
    return `${id} (${often}${reason.replaceAll("_", " ")}${backAt === null ? "" : ", back"})`;
  });
  const unnamed = total - newest.reduce((sum, { id }) => sum + (times.get(id) ?? 0), 0);
  const more = unnamed > 0 ? `, and ${counted(unnamed, "more", "more")}` : "";
  return `  lost in the last hour: ${printable(named.join(", "))}${more}`;
}
