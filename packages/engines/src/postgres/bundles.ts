// Bundles: rows that hold neighbouring tasks together. A row for each task would cost the server
// far more: an insert into a table and two indexes, an update of all three when the task ends, and
// a delete.
//
// - Every new task goes into a bundle if it fits. Folds have disjoint ranges of new ids, and a
//   changed bundle is replaced by bundles within its range. So bundles never overlap.
// - A task that fits no more gets a row of `tasks`, and stays there.
// - A trim deletes the bundles of which it evicts every task. Until then the fold row says which
//   places of history are trimmed, and readers leave those tasks out.
// - Terms say what may be found in a bundle, so that a search need not decode all of them.

import { historyLaneOf, historySegmentOf, type TaskId } from "@yardmaster/core";
import { Batch, type BatchRecord, type Place } from "../durable/batches.js";
import { isBeyond, type LaneMarks } from "../lane-marks.js";
import type { HeadSum, ProgressSum } from "../records/index.js";
import { recordKinds } from "../records/index.js";
import { Block } from "./block.js";
import { textOf } from "./names.js";
import type { Query } from "./session.js";

export interface TaskRecords {
  readonly head: BatchRecord;
  readonly progress?: BatchRecord | undefined;
}

/** A task, and what its records say. */
export interface SummedTask extends TaskRecords {
  readonly headSum: HeadSum;
  readonly progressSum?: ProgressSum | undefined;
}

/** With its other columns, a bundle has to fit a page of 8 KiB, or it is stored in pieces. */
const bundleBytesMax = 7600;
/** Larger tasks are stored as rows. */
const bundledBytesMax = 2000;
/** The sums of one more segment. */
const sumBytes = 32;

/**
 * A trim deletes by the last place of a bundle, which only works within one lane, and it must not
 * evict a task that settles in a trimmed place afterwards.
 */
export function fitsBundle(task: SummedTask, trimmed: LaneMarks): boolean {
  const { headSum, progressSum } = task;
  if (sizeOf(task) > bundledBytesMax || headSum.isOutOfLine || progressSum?.isOutOfLine) return false;
  const settled = progressSum?.settled ?? 0;
  return settled === 0 || (historyLaneOf(historySegmentOf(settled)) === 0 && isBeyond(trimmed, settled));
}

/** Tasks of the same range, by rising id, may share a bundle. */
export async function writeBundles(query: Query, ranges: Iterable<readonly SummedTask[]>): Promise<void> {
  const bundles: Bundle[] = [];
  for (const tasks of ranges) bundles.push(...bundlesOf(tasks));
  if (bundles.length === 0) return;
  const block = new Block();
  for (const { tasks } of bundles) {
    block.addBatch(tasks.flatMap(({ head, progress }) => (progress ? [head, progress] : head)));
  }
  const text = `insert into bundles (first, last, place, since, until, failed, terms, sums, bytes)
    select first, last, place, since, until, failed, terms, sums::bigint[], substring($1::bytea, at, length)
    from unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::boolean[],
      $8::text[], $9::text[], $10::int[], $11::int[])
      as n (first, last, place, since, until, failed, terms, sums, at, length)`;
  const values = [block.bytes, ...columnsOf(bundles), block.starts, block.lengths];
  await query({ text, name: "put-bundles", values });
}

interface Bundle {
  readonly tasks: SummedTask[];
  readonly terms: Set<string>;
  size: number;
}

function bundlesOf(tasks: readonly SummedTask[]): Bundle[] {
  const bundles: Bundle[] = [];
  for (const task of tasks) {
    const terms = termsOf(task);
    const last = bundles.at(-1);
    const more = (known?: Set<string>) =>
      terms.reduce((sum, term) => sum + (known?.has(term) ? 0 : term.length + 1), sizeOf(task) + sumBytes);
    const isFull = last === undefined || last.size + more(last.terms) > bundleBytesMax;
    const bundle = isFull ? { tasks: [], terms: new Set<string>(), size: 0 } : last;
    if (isFull) bundles.push(bundle);
    bundle.size += more(bundle.terms);
    bundle.tasks.push(task);
    for (const term of terms) bundle.terms.add(term);
  }
  return bundles;
}

function sizeOf({ head, progress }: TaskRecords): number {
  return head.end - head.start + (progress ? progress.end - progress.start : 0);
}

function columnsOf(bundles: readonly Bundle[]): (readonly unknown[])[] {
  const ids = bundles.map(({ tasks }) => tasks.map(({ head }) => head.task));
  const times = bundles.map(({ tasks }) => tasks.map(({ headSum }) => headSum.submittedAt));
  return [
    ids.map((each) => each[0]),
    ids.map((each) => each.at(-1)),
    bundles.map(({ tasks }) => lastPlaceOf(tasks)),
    times.map((each) => Math.min(...each)),
    times.map((each) => Math.max(...each)),
    bundles.map(({ tasks }) => tasks.some(({ progressSum }) => progressSum?.error !== undefined)),
    bundles.map(({ terms }) => `\n${[...terms].join("\n")}\n`),
    bundles.map(({ tasks }) => `{${sumsOf(tasks).join(",")}}`),
  ];
}

/** The place in history after which all tasks are evicted; 0 if one of them is live. */
function lastPlaceOf(tasks: readonly SummedTask[]): number {
  const places = tasks.map(({ progressSum }) => progressSum?.settled ?? 0);
  return places.includes(0) ? 0 : Math.max(...places);
}

/** For each segment of history: its index, the count of tasks, their bytes, the last finish. */
function sumsOf(tasks: readonly SummedTask[]): number[] {
  const sums = new Map<number, [number, number, number]>();
  for (const { headSum, progressSum } of tasks) {
    const { settled = 0, resultBytes = 0, finishedAt = 0 } = progressSum ?? {};
    if (settled === 0) continue;
    const [count, bytes, finished] = sums.get(historySegmentOf(settled)) ?? [0, 0, 0];
    const more = headSum.bytes + resultBytes;
    sums.set(historySegmentOf(settled), [count + 1, bytes + more, Math.max(finished, finishedAt)]);
  }
  return [...sums].flatMap(([segment, sum]) => [segment, ...sum]);
}

const termMarks = { queue: "q", door: "d", state: "s", worker: "w", key: "k" } as const;

export type TermField = keyof typeof termMarks;

function termsOf({ headSum: { queue, door, key }, progressSum }: SummedTask): string[] {
  const { state = "waiting", worker } = progressSum ?? {};
  return Object.entries({ queue, door, state, worker, key }).flatMap(([field, name]) =>
    name === undefined ? [] : termOf(field as TermField, name),
  );
}

function termOf(field: TermField, name: string): string {
  return termMarks[field] + textOf(name);
}

/** What `terms` contains if a task of the bundle has this. */
export function searchedTerm(field: TermField, name: string): string {
  return `\n${termOf(field, name)}\n`;
}

/** The tasks of a bundle: its bytes are those of a batch, each head with its progress behind it. */
export function tasksIn(bytes: Buffer): TaskRecords[] {
  const tasks: { head: BatchRecord; progress?: BatchRecord }[] = [];
  const place: Place = { bytes, start: 0, end: bytes.length };
  for (const record of new Batch(0, place).records) {
    if (record.kind === recordKinds.head) tasks.push({ head: record });
    else (tasks.at(-1) as { progress?: BatchRecord }).progress = record;
  }
  return tasks;
}

/** False if a trim evicted a task of a bundle. */
export function isKept({ progress }: TaskRecords, trimmed: LaneMarks): boolean {
  return progress === undefined || progress.settled === 0 || isBeyond(trimmed, progress.settled);
}

/** Bundles `b` that may have a task between `n.low` and `n.high`. */
export const overlaps = `b.last >= n.low and b.first <= n.high and b.first >=
  coalesce((select first from bundles where first <= n.low order by first desc limit 1), 0)`;

/** Ids that are further apart are looked up one by one. */
const gapMax = 64;

/** Ranges of ids that are close together, as arrays of their lowest and highest ids. */
export function rangesOf(ids: Iterable<TaskId>): [lows: string, highs: string] {
  const lows: number[] = [];
  const highs: number[] = [];
  for (const id of Float64Array.from(ids).sort()) {
    const last = highs.length - 1;
    if (id - (highs[last] ?? Number.NEGATIVE_INFINITY) <= gapMax) highs[last] = id;
    else {
      lows.push(id);
      highs.push(id);
    }
  }
  return [`{${lows.join(",")}}`, `{${highs.join(",")}}`];
}

/** Deletes the bundles that may have one of these tasks, and returns them. */
export async function takeBundles(query: Query, ids: Iterable<TaskId>): Promise<readonly TaskRecords[][]> {
  const text = `delete from bundles b using unnest($1::bigint[], $2::bigint[]) n (low, high)
    where ${overlaps} returning b.bytes`;
  const { rows } = await query<{ bytes: Buffer }>({ text, name: "take-bundles", values: rangesOf(ids) });
  return rows.map(({ bytes }) => tasksIn(bytes));
}
