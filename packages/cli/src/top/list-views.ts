// The views of `top` beside the overview: each a list as high as the screen.

import type { FailureKind } from "@yardmaster/sdk";
import { count, counted } from "../amounts.js";
import { messageLine } from "../commands/tap.js";
import { taskLines } from "../commands/task.js";
import { taskColumns } from "../commands/tasks.js";
import { tableLines } from "../table.js";
import { cut, printable, shownWidth } from "../terminal.js";
import { lineOf } from "./columns.js";
import type { Room, ScreenLine } from "./overview.js";
import { problemLines } from "./overview.js";
import { clock, duration } from "./page-words.js";
import { queueHead, queueRows } from "./queue-rows.js";
import { problemSign, spark } from "./signs.js";
import { streamLines } from "./stream-rows.js";
import type { TopLooks } from "./top-looks.js";
import type { TopYard } from "./top-yard.js";
import { workerHead, workerRows } from "./worker-rows.js";

export function streamView(yard: TopYard, { width, height, now, filter }: Room): ScreenLine[] {
  return streamLines(yard, width, height, now, filter).map((text) => ({ text }));
}

/** All problems, each as a whole: what does not fit goes on below. */
export function problemsView(yard: TopYard, { width, height, now }: Room): ScreenLine[] {
  const problems = yard.problems();
  if (problems.length === 0) return problemLines(yard, width, now);
  return problems
    .flatMap((alert) =>
      wrapped(printable(alert.words), width - 2).map((part, at) => ({
        text: at === 0 ? `${problemSign(alert)} ${part}` : `  ${part}`,
        ...(at === 0 ? { target: { is: "problem", alert } as const } : {}),
      })),
    )
    .slice(0, height);
}

function wrapped(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line === "" || shownWidth(`${line} ${word}`) <= width)
      lines[lines.length - 1] = `${line} ${word}`.trim();
    else lines.push(word);
  }
  return lines.map((line) => cut(line, width));
}

export function queuesView(yard: TopYard, { width, height, now, filter }: Room): ScreenLine[] {
  const { lines, queues, rest } = queueRows(yard, width, height - 1, now, filter);
  const rows = lines.map((text, at) => {
    const queue = queues[at];
    return queue ? { text, target: { is: "queue", queue } as const } : { text };
  });
  return [{ text: queueHead(width) }, ...rows, ...(rest === "" ? [] : [{ text: rest }])];
}

export function workersView(yard: TopYard, { width, height, now, filter }: Room): ScreenLine[] {
  const lost = yard.lost.slice(0, Math.max(0, Math.floor(height / 4) - 1));
  const lostRoom = lost.length === 0 ? 0 : lost.length + 2;
  const { lines, workers, rest } = workerRows(yard, width, height - 2 - lostRoom, now, filter);
  const rows = lines.map((text, at) => {
    const worker = workers[at];
    return worker ? { text, target: { is: "worker", worker } as const } : { text };
  });
  const lostLines = lost.map(({ id, at, words, backAt }) => {
    const back =
      backAt === null ? "" : ` It came back after ${duration(Date.parse(backAt) - Date.parse(at))}.`;
    return { text: cut(`× ${clock(Date.parse(at))} ${printable(`${id}: ${words}${back}`)}`, width) };
  });
  return [
    { text: workerHead(width) },
    ...rows,
    { text: rest },
    ...(lost.length === 0 ? [] : [{ text: "" }, { text: "lost in the last hour" }, ...lostLines]),
  ];
}

export function tasksView({ tasks }: TopLooks, { width, height }: Room): ScreenLine[] {
  if (tasks.length === 0) return [{ text: "No task matches." }];
  const [head = "", ...lines] = tableLines(tasks.slice(0, height - 1), taskColumns, width);
  const rows = lines.map((text, at) => ({ text, target: { is: "task", id: tasks[at]?.id ?? "" } as const }));
  return [{ text: head }, ...rows];
}

export function taskView({ task }: TopLooks, { width, height }: Room): ScreenLine[] {
  if (!task) return [{ text: "There is no such task, or it is no longer kept." }];
  return taskLines(task, width)
    .slice(0, height)
    .map((text) => ({ text }));
}

export function failuresView({ failures }: TopLooks, { width, height, now }: Room): ScreenLine[] {
  if (!failures) return [{ text: "Not answered yet." }];
  const { items, tasks, kinds, rest } = failures;
  if (items.length === 0) return [{ text: "Nothing failed in the last hour." }];
  const title = `${counted(tasks, "task")} failed in the last hour, of ${counted(kinds, "kind")}`;
  const shown = items.slice(0, height - 3).map((kind) => ({ text: kindLine(kind, width, now) }));
  const more = items.length - shown.length;
  const left =
    more > 0
      ? `  ${count(more)} more kinds`
      : rest > 0
        ? `  ${counted(rest, "more failed task")} of kinds that are rarer`
        : "";
  return [{ text: title }, { text: "" }, ...shown, ...(left === "" ? [] : [{ text: left }])];
}

function kindLine(
  { code, count: tasks, words, queue, lastAt, trend, isExpired }: FailureKind,
  width: number,
  now: number,
): string {
  const isWide = width >= 112;
  const end = width - (isWide ? 27 : 13);
  return lineOf(
    [
      { text: count(tasks), at: 7, width: 7, right: true },
      { text: isExpired ? "expired" : `${code}: ${words}`, at: 9, width: end - 28 },
      { text: queue, at: end - 17, width: 16 },
      { text: duration(Math.max(0, now - Date.parse(lastAt))), at: end, width: 13 },
      ...(isWide ? [{ text: spark(trend, 12), at: end + 14, width: 12 }] : []),
    ],
    width,
  );
}

export function wireView({ messages, skipped }: TopLooks, { width, height }: Room): ScreenLine[] {
  if (messages.length === 0) return [{ text: "Nothing has passed since this view was opened." }];
  const left = skipped === 0 ? [] : [{ text: `${count(skipped)} more messages passed and are not shown.` }];
  const shown = messages.slice(-Math.max(1, height - left.length));
  return [...left, ...shown.map((message) => ({ text: messageLine(message, width) }))];
}

const keyLines = [
  "1 to 7        the views, as the last line names them",
  "j k, arrows   choose a line: a problem, queue, worker or task",
  "enter         open what is chosen: the tasks of a queue or worker, the story of a task",
  "/             find: a number opens that task, other text filters the view",
  "d             drain the chosen worker; it asks once more",
  "p             pause or resume the chosen queue",
  "c             cancel the chosen task; it asks once more",
  "s             the line that starts a worker for the chosen queue",
  "!             all problems",
  "esc           back out",
  "q, ctrl-c     quit",
  "",
  "With no line chosen, d, p and s act on the first problem that they can fix.",
  "● clear  ▲ behind  × stopped  ‖ paused  ↓ draining  ◷ later",
];

export function keysView({ width }: Room): ScreenLine[] {
  return keyLines.map((text) => ({ text: cut(text, width) }));
}
