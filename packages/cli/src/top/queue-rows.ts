// The queues of `top`: a row each with wagons before and behind its signal.

import type { Queue } from "@yardmaster/sdk";
import { count } from "../amounts.js";
import { paint } from "../terminal.js";
import { type Cell, lineOf } from "./columns.js";
import { figureAge, rate, shortWhy, signalOf } from "./page-words.js";
import { signalSign, wagons } from "./signs.js";
import type { TopYard } from "./top-yard.js";

/** Width from which the doors of clients and workers have columns of their own. */
const wideColumns = 112;

interface QueueColumns {
  readonly isWide: boolean;
  readonly name: number;
  /** The column after the number of waiting tasks; everything to the right is relative to it. */
  readonly waitingEnd: number;
}

function columnsFor(width: number): QueueColumns {
  const isWide = width >= wideColumns;
  const spare = Math.max(0, width - (isWide ? 120 : 80));
  const name = 13 + Math.min(30, spare);
  return { isWide, name, waitingEnd: name + (isWide ? 25 : 9) };
}

export function queueHead(width: number): string {
  const { isWide, name, waitingEnd: end } = columnsFor(width);
  const cells: Cell[] = [{ text: "queue", at: 0, width: name }];
  if (isWide) cells.push({ text: "came in by", at: name + 1, width: 15 });
  cells.push({ text: "waiting", at: end, width: 8, right: true });
  if (isWide) {
    cells.push(
      { text: "running", at: end + 37, width: 8, right: true },
      { text: "in/s", at: end + 45, width: 8, right: true },
      { text: "done/s", at: end + 53, width: 8, right: true },
      { text: "oldest", at: end + 62, width: 9, right: true },
      { text: "worked by", at: end + 64, width },
    );
  } else {
    cells.push(
      { text: "running", at: end + 31, width: 8, right: true },
      { text: "done/s", at: end + 39, width: 8, right: true },
      { text: "oldest", at: end + 47, width: 8, right: true },
      { text: "why", at: end + 49, width },
    );
  }
  return paint("bold", lineOf(cells, width));
}

export function queueRow(queue: Queue, width: number, now: number): string {
  const { isWide, name, waitingEnd: end } = columnsFor(width);
  const signal = signalOf(queue, now);
  const before = end + (isWide ? 4 : 2);
  const why = shortWhy(queue, signal);
  const oldest = queue.oldestAt === null ? "" : figureAge(Math.max(0, now - Date.parse(queue.oldestAt)));
  const cells: Cell[] = [{ text: queue.name, at: 0, width: name }];
  if (isWide) cells.push({ text: doorNames(queue.inBy), at: name + 1, width: 15 });
  cells.push(
    { text: count(queue.waiting), at: end, width: 8, right: true },
    { text: wagons(queue.waiting, 11), at: before + 11, width: 11, right: true },
    { text: " ", at: before + 12, width: 1, paint: () => signalSign(signal) },
    { text: wagons(queue.running, isWide ? 11 : 8), at: before + 14, width: isWide ? 11 : 8 },
  );
  const numbers: readonly (readonly [string, number])[] = isWide
    ? [
        [count(queue.running), end + 37],
        [rate(queue.inPerSecond[1]), end + 45],
        [rate(queue.donePerSecond[1]), end + 53],
        [oldest, end + 62],
      ]
    : [
        [count(queue.running), end + 31],
        [rate(queue.donePerSecond[1]), end + 39],
        [oldest, end + 47],
      ];
  for (const [text, at] of numbers) cells.push({ text, at, width: 7, right: true });
  cells.push(
    isWide ? { text: workedBy(queue, why), at: end + 64, width } : { text: why, at: end + 49, width },
  );
  return lineOf(cells, width);
}

function workedBy(queue: Queue, why: string): string {
  if (why === "paused" || why === "draining") return why;
  const doors = doorNames(queue.workersBy);
  return doors !== "" ? doors : why !== "" && why !== "no worker" ? why : "nobody";
}

/** The busiest door first. */
function doorNames(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([, value]) => value > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([door]) => door)
    .join(", ");
}

/** As many as fit; the last line says how many are left out. */
export function queueRows(yard: TopYard, width: number, room: number, now: number, filter = ""): QueueList {
  const queues = yard.rankedQueues(now, filter);
  if (queues.length === 0) {
    return {
      queues: [],
      lines: [filter === "" ? "No queue yet. The first task makes one." : "No queue has this in its name."],
      rest: "",
    };
  }
  const shown = queues.length <= room ? queues : queues.slice(0, Math.max(0, room - 1));
  const rest = queues.slice(shown.length);
  const waiting = rest.reduce((sum, queue) => sum + queue.waiting, 0);
  return {
    queues: shown,
    lines: shown.map((queue) => queueRow(queue, width, now)),
    rest: rest.length === 0 ? "" : `  ${count(rest.length)} more queues, ${count(waiting)} waiting in them`,
  };
}

export interface QueueList {
  readonly queues: readonly Queue[];
  readonly lines: readonly string[];
  readonly rest: string;
}
