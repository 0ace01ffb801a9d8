// The stream of `top`: a row for a worker or for all of a door, a letter for each second of the
// last minute. The letter is the queue it worked on most.

import type { WorkerView } from "@yardmaster/sdk";
import { count, counted } from "../amounts.js";
import { cut, padded, paint, printable } from "../terminal.js";
import { clock, duration } from "./page-words.js";
import { type Cell, windowSeconds } from "./stream-minute.js";
import type { TopYard } from "./top-yard.js";

/** A door with more workers than this, or with workers of many slots, is one row. */
const doorRowsMax = 16;
const slotsMax = 8;
const nameColumns = 20;
/** Columns of a row: name, a letter a second, share of time at work, a note. */
export const streamColumns: number = nameColumns + 1 + windowSeconds + 7;

interface StreamRow {
  readonly name: string;
  readonly workers: readonly WorkerView[];
  readonly isBand: boolean;
  /** Trouble is shown first where there is little room. */
  readonly rank: number;
}

/** Seconds that fit: a minute, or less in a narrow terminal. */
function secondsFor(width: number): number {
  return Math.max(10, Math.min(windowSeconds, width - nameColumns - 8));
}

export function streamLines(yard: TopYard, width: number, room: number, now: number, filter = ""): string[] {
  const rows = chosen(rowsOf(yard, now, filter), room - 2);
  const last = Math.floor(now / 1000) - 1;
  const letters = queueLetters(yard, rows, last, secondsFor(width));
  const lines = rows.map((row) => rowLine(yard, row, letters, last, width, now));
  const empty =
    filter === "" ? "No worker is here. yardmaster work starts one." : "No worker has this in its name.";
  return [legend(letters, width), ...(rows.length === 0 ? [empty] : lines), axis(last, width)];
}

function rowsOf(yard: TopYard, now: number, filter: string): StreamRow[] {
  const doors = new Map<string, WorkerView[]>();
  for (const worker of yard.rankedWorkers(now, filter)) {
    const members = doors.get(worker.door) ?? [];
    members.push(worker);
    doors.set(worker.door, members);
  }
  return [...doors].flatMap(([door, members]): StreamRow[] => {
    const isBand =
      filter === "" &&
      (members.length > doorRowsMax || members.some(({ slots, pulls }) => !pulls && slots > slotsMax));
    if (isBand)
      return [{ name: `${door}, ${counted(members.length, "worker")}`, workers: members, isBand, rank: 0 }];
    return members.map((worker) => ({
      name: worker.id,
      workers: [worker],
      isBand: false,
      rank: yard.lost.some(({ id }) => id === worker.id) ? 1 : yard.trouble(worker, now),
    }));
  });
}

/** Where not all fit: bands and trouble first, then one of each door in turn; shown by name. */
function chosen(rows: readonly StreamRow[], room: number): StreamRow[] {
  const seen = new Map<string, number>();
  const turns = rows.map((row) => {
    const door = row.workers[0]?.door ?? "";
    const turn = seen.get(door) ?? 0;
    seen.set(door, turn + 1);
    return { row, turn: row.rank <= 3 ? -1 : turn };
  });
  turns.sort((a, b) => a.turn - b.turn);
  const doorOf = ({ workers }: StreamRow) => workers[0]?.door ?? "";
  return turns
    .slice(0, Math.max(0, room))
    .map(({ row }) => row)
    .sort(
      (a, b) =>
        Number(a.isBand) - Number(b.isBand) ||
        doorOf(a).localeCompare(doorOf(b)) ||
        a.name.localeCompare(b.name, "en", { numeric: true }),
    );
}

/** Each queue in sight has a letter of its name, or a digit where all of them are taken. */
function queueLetters(
  yard: TopYard,
  rows: readonly StreamRow[],
  last: number,
  seconds: number,
): Map<string, string> {
  const letters = new Map<string, string>();
  const taken = new Set<string>(["x"]);
  for (const { workers } of rows) {
    for (const { id } of workers.slice(0, 50)) {
      for (let second = last - seconds + 1; second <= last; second += 1) {
        const queue = yard.stream.cell(id, second)?.queue;
        if (queue === undefined || letters.has(queue)) continue;
        const free = [...queue.toLowerCase().replace(/[^a-z]/g, ""), ..."0123456789"].find(
          (one) => !taken.has(one),
        );
        letters.set(queue, free ?? "*");
        if (free !== undefined) taken.add(free);
      }
    }
  }
  return letters;
}

function legend(letters: ReadonlyMap<string, string>, width: number): string {
  const names = [...letters].map(([queue, letter]) => `${letter} ${printable(queue)}`).join(" ");
  const seconds = secondsFor(width);
  const signs = "   ! failed  / lost  x gone  . idle";
  const lead = `stream, ${seconds === 60 ? "1 min" : `${seconds} s`}, a letter a second: ${names}`;
  return paint("bold", width < streamColumns ? cut(lead, width) : cut(lead, width - signs.length) + signs);
}

function rowLine(
  yard: TopYard,
  row: StreamRow,
  letters: ReadonlyMap<string, string>,
  last: number,
  width: number,
  now: number,
): string {
  let text = "";
  let worked = 0;
  let known = 0;
  for (let second = last - secondsFor(width) + 1; second <= last; second += 1) {
    const cell = cellOf(yard, row, second);
    const isDraining = row.workers.length === 1 && row.workers[0]?.state === "draining";
    text += letterOf(cell, letters, yard.stream.isKnown(second), isDraining);
    if (!yard.stream.isKnown(second)) continue;
    known += 1;
    worked += cell?.mean ?? 0;
  }
  const slots = row.workers.reduce((sum, worker) => sum + (worker.pulls ? 1 : worker.slots), 0);
  const share = known === 0 || slots === 0 ? "" : `${Math.round(Math.min(1, worked / known / slots) * 100)}%`;
  const lead = `${padded(cut(printable(row.name), nameColumns), nameColumns)} ${text}`;
  return cut(
    `${lead}  ${padded(share, 4, "right")}  ${note(yard, row, worked / Math.max(1, known), now)}`,
    width,
  ).trimEnd();
}

/** Of a band: the queue most of its workers worked on, and the sum of their attempts. */
function cellOf(yard: TopYard, { workers }: StreamRow, second: number): Cell | undefined {
  const [only] = workers;
  if (workers.length === 1 && only) return yard.stream.cell(only.id, second);
  const byQueue = new Map<string, number>();
  let mean = 0;
  for (const { id } of workers) {
    const cell = yard.stream.cell(id, second);
    if (!cell) continue;
    mean += cell.mean;
    if (cell.queue !== undefined) byQueue.set(cell.queue, (byQueue.get(cell.queue) ?? 0) + cell.mean);
  }
  const [most] = [...byQueue].sort(([, a], [, b]) => b - a);
  return most === undefined ? undefined : { queue: most[0], mean, mark: "" };
}

function letterOf(
  cell: Cell | undefined,
  letters: ReadonlyMap<string, string>,
  isKnown: boolean,
  isDraining: boolean,
): string {
  if (cell?.mark === "gone") return "x";
  if (cell?.mark === "lost") return "/";
  if (cell?.mark === "failed") return "!";
  if (cell?.queue !== undefined) return letters.get(cell.queue) ?? "*";
  if (!isKnown) return " ";
  return isDraining ? "-" : ".";
}

function note(yard: TopYard, { workers, isBand }: StreamRow, mean: number, now: number): string {
  const [worker] = workers;
  if (!worker) return "";
  if (isBand) return worker.pulls ? "" : `${count(worker.slots)} each, share of slots`;
  const running = yard.beats.get(worker.id)?.running ?? worker.running;
  if (worker.state === "draining") return `draining, ${counted(running, "task")} left`;
  const lost = yard.lost.find(
    ({ id, at }) => id === worker.id && now - Date.parse(at) < windowSeconds * 1000,
  );
  if (lost?.backAt) return `gone ${duration(Date.parse(lost.backAt) - Date.parse(lost.at))}, came back`;
  const failed = yard.beats.get(worker.id)?.failed ?? 0;
  if (failed > 0) return `${count(failed)} failed`;
  return mean >= 1.5 ? `${Math.round(mean)} at once` : "";
}

/** A time every 20 s, as far as they fit before "now". */
function axis(last: number, width: number): string {
  const seconds = secondsFor(width);
  let line = " ".repeat(nameColumns + 1);
  for (let ago = seconds; ago > 11; ago -= 20) line += padded(clock((last + 1 - ago) * 1000), 20);
  return cut(
    `${line.slice(0, nameColumns + 1 + seconds - 3).padEnd(nameColumns + 1 + seconds - 3)}now`,
    width,
  );
}
