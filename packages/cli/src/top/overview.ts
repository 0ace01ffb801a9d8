// The first view of `top`: problems, figures, queues, the stream where there is room, and workers.

import type { Alert, Queue, WorkerView } from "@yardmaster/sdk";
import { count, counted } from "../amounts.js";
import { cut, paint, printable, shownWidth } from "../terminal.js";
import { bothEnds } from "./columns.js";
import { figureAge, rate } from "./page-words.js";
import { queueHead, queueRows } from "./queue-rows.js";
import { problemSign, signalSign, spark } from "./signs.js";
import { streamColumns, streamLines } from "./stream-rows.js";
import type { TopYard } from "./top-yard.js";
import { workerHead, workerRows } from "./worker-rows.js";

/** Number of problems shown, as on the page. One key shows the rest. */
const problemsMax = 3;
/** Rows of the stream on a screen of 40 lines. */
const streamRowsMax = 10;
/** Below this height there are no empty lines, and one problem. */
const roomyHeight = 16;
/** The least room for a head and rows of workers below those of queues. */
const bothMin = 6;
/** From this height on there is room for the stream. */
const streamHeight = 36;
const workersMin = 4;
const sparkColumns = 8;

/** The thing that a line of the screen shows. Keys act on the chosen one. */
export type Target =
  | { readonly is: "problem"; readonly alert: Alert }
  | { readonly is: "queue"; readonly queue: Queue }
  | { readonly is: "worker"; readonly worker: WorkerView }
  | { readonly is: "task"; readonly id: string };

export interface ScreenLine {
  readonly text: string;
  readonly target?: Target;
}

export interface Room {
  readonly width: number;
  /** Lines between the head and the foot of the screen. */
  readonly height: number;
  readonly now: number;
  readonly filter: string;
  readonly isPrinted: boolean;
}

export function overviewLines(yard: TopYard, room: Room): ScreenLine[] {
  const { width, height, now, filter, isPrinted } = room;
  if (height < roomyHeight && !isPrinted) return shortLines(yard, room);
  const problems = problemLines(yard, width, now);
  const hasStream = !isPrinted && height + 2 >= streamHeight && width >= streamColumns;
  // The lines besides rows: figures, three heads, and four empty lines (three without the stream).
  const fixed = problems.length + 1 + 1 + 1 + 1 + 1 + 1 + 1;
  const streamRoom = hasStream ? streamRowsMax + 3 : 0;
  const rest = Math.max(0, height - fixed - streamRoom);
  const queueRoom = Math.max(
    1,
    Math.min(yard.queues.size, rest - Math.min(workersMin, Math.max(1, yard.workers.size))),
  );
  const queues = queueRows(yard, width, queueRoom, now, filter);
  const workers = workerRows(yard, width, Math.max(0, rest - queueRoom), now, filter);
  const lines: ScreenLine[] = [
    ...problems,
    { text: "" },
    { text: figuresLine(yard, width, now) },
    { text: "" },
    { text: queueHead(width) },
    ...queues.lines.map((text, at) => withTarget(text, queues.queues[at], "queue")),
    ...(queues.rest === "" ? [] : [{ text: queues.rest }]),
    { text: "" },
  ];
  if (hasStream)
    lines.push(...streamLines(yard, width, streamRowsMax + 2, now, filter).map((text) => ({ text })), {
      text: "",
    });
  lines.push(
    { text: workerHead(width) },
    ...workers.lines.map((text, at) => withTarget(text, workers.workers[at], "worker")),
    ...(workers.rest.trim() === "" ? [] : [{ text: workers.rest }]),
  );
  return lines;
}

/** For a terminal of a few lines: rows matter more than space between them. */
function shortLines(yard: TopYard, { width, height, now, filter }: Room): ScreenLine[] {
  const rest = Math.max(0, height - 3);
  const areBoth = rest >= bothMin;
  const forWorkers = Math.floor(rest / 2) - 1;
  const queues = queueRows(yard, width, areBoth ? rest - forWorkers - 1 : rest, now, filter);
  const spare = rest - queues.lines.length - (queues.rest === "" ? 0 : 1) - 1;
  const lines: ScreenLine[] = [
    ...problemLines(yard, width, now, 1),
    { text: figuresLine(yard, width, now) },
    { text: queueHead(width) },
    ...queues.lines.map((text, at) => withTarget(text, queues.queues[at], "queue")),
    ...(queues.rest === "" ? [] : [{ text: queues.rest }]),
  ];
  if (!areBoth) return lines;
  const workers = workerRows(yard, width, spare - 1, now, filter);
  return [
    ...lines,
    { text: workerHead(width) },
    ...workers.lines.map((text, at) => withTarget(text, workers.workers[at], "worker")),
    { text: workers.rest },
  ];
}

function withTarget(
  text: string,
  subject: Queue | WorkerView | undefined,
  is: "queue" | "worker",
): ScreenLine {
  if (subject === undefined) return { text };
  return {
    text,
    target: is === "queue" ? { is, queue: subject as Queue } : { is, worker: subject as WorkerView },
  };
}

export function problemLines(yard: TopYard, width: number, now: number, max = problemsMax): ScreenLine[] {
  const problems = yard.problems();
  if (problems.length === 0) {
    const oldest = yard.figures?.oldestAt;
    const waits = oldest ? ` The oldest task waits ${figureAge(now - Date.parse(oldest))}.` : "";
    return [{ text: `${signalSign("clear")} ${cut(`Nothing is wrong.${waits}`, width - 2)}` }];
  }
  const shown = problems.length <= max ? problems : problems.slice(0, max);
  const more = problems.length - shown.length;
  return shown.map((alert, at) => {
    const isLast = at === shown.length - 1;
    const end = isLast && more > 0 ? `${more} more` : keyOf(alert, width);
    const text = `${problemSign(alert)} ${bothEnds(alert.words, end, width - 2)}`;
    return { text, target: { is: "problem", alert } };
  });
}

const keys: ReadonlyMap<string, string> = new Map([
  ["start-worker", "[s] start one"],
  ["drain-worker", "[d] drain it"],
  ["resume-queue", "[p] resume"],
]);

/** If there is room, the key that fixes the problem once its line is chosen. */
function keyOf({ fixes }: Alert, width: number): string {
  return width < 112 ? "" : (keys.get(fixes[0]?.do ?? "") ?? "");
}

export function figuresLine(yard: TopYard, width: number, now: number): string {
  const { figures, history } = yard;
  if (!figures) return "";
  const oldest =
    figures.oldestAt === null ? "none" : figureAge(Math.max(0, now - Date.parse(figures.oldestAt)));
  const parts: readonly (readonly [
    name: string,
    value: string,
    values: readonly (number | null)[] | undefined,
  ])[] = [
    ["waiting", count(figures.waiting), history?.waiting],
    ["running", count(figures.running), history?.running],
    ["done", `${rate(figures.donePerSecond)}/s`, history?.done],
    ["failed", `${rate(figures.failedPerSecond)}/s`, history?.failed],
    ["oldest", oldest, history?.oldestMs],
  ];
  const plain = parts.map(([name, value]) => `${name} ${value}`);
  const sparked = parts.map(([, , values], at) => {
    const drawn = spark(values ?? [], sparkColumns);
    return drawn === "" ? plain[at] : `${plain[at]} ${drawn}`;
  });
  const wide = sparked.join("   ");
  const line = shownWidth(wide) <= width ? wide : plain.join("   ");
  return cut(line, width);
}

/** The first line of every view. */
export function headLine(yard: TopYard, host: string, width: number, link: string): string {
  const facts =
    width < 112
      ? ""
      : `   ${counted(yard.figures?.workers ?? yard.workers.size, "worker")}   ${counted(yard.doors, "door")}`;
  return bothEnds(`yardmaster  ${printable(host)}${facts}`, `${link}   ? keys`, width);
}

/** The last line: the views by number, and the keys that act. */
export function footLine(views: readonly string[], current: string, width: number): string {
  const names = views
    .map((name, at) => `${at + 1} ${name === current ? paint("bold", name) : name}`)
    .join(" ");
  const isWide = width >= 112;
  const acts = isWide
    ? "   / find   d drain   p pause   c cancel   q quit"
    : "  / find d drain p pause q quit";
  const plain = views.map((name, at) => `${at + 1} ${name}`).join(" ") + acts;
  return plain.length <= width ? names + acts : cut(plain, width);
}
