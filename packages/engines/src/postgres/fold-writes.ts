// The statements of a fold. Rows go as one array per column, and records as one block of bytes.

import type { TaskId } from "@yardmaster/core";
import type { BatchRecord } from "../durable/batches.js";
import type { LaneMarks } from "../lane-marks.js";
import { type HeadSum, type ProgressSum, RecordReader, sumHead, sumProgress } from "../records/index.js";
import { Block } from "./block.js";
import { fitsBundle, type SummedTask, type TaskRecords, writeBundles } from "./bundles.js";
import { textOf } from "./names.js";
import type { Query } from "./session.js";

/** The last records of a task in the group. */
export interface TaskEntry {
  head?: BatchRecord | undefined;
  progress?: BatchRecord | undefined;
}

/** A record that belongs to no task: to be put, or to be removed. */
export interface ItemEntry {
  readonly kind: number;
  readonly name: string;
  readonly put?: BatchRecord;
  /** The owner of a key that is put; otherwise 0. */
  readonly task?: number;
  /** A key is removed only if it belongs to one of these. */
  readonly ofTasks?: number[];
}

const reader = new RecordReader();

type Column = readonly (string | number | boolean | null)[];

/** A task that is not in a row. */
export interface KeptTask extends TaskRecords {
  /** Tasks of the same bundle have the same number, and new ones have 0. */
  readonly range: number;
}

/** Writes tasks into bundles, or into rows if they do not fit. */
export async function writeKept(query: Query, tasks: Iterable<KeptTask>, trimmed: LaneMarks): Promise<void> {
  const ranges = new Map<number, SummedTask[]>();
  const others: TaskEntry[] = [];
  for (const { range, head, progress } of tasks) {
    const sums = { headSum: headSumOf(head), progressSum: progress && progressSumOf(progress) };
    const task = { head, progress, ...sums };
    if (!fitsBundle(task, trimmed)) others.push(task);
    else if (ranges.has(range)) ranges.get(range)?.push(task);
    else ranges.set(range, [task]);
  }
  for (const range of ranges.values()) range.sort((one, other) => one.head.task - other.head.task);
  await writeBundles(query, ranges.values());
  await insertTasks(query, others, true);
}

/** Changes heads, then progress. Returns the places in history that tasks were given. */
export async function writeRows(query: Query, tasks: ReadonlyMap<TaskId, TaskEntry>): Promise<number[]> {
  const heads: TaskEntry[] = [];
  const progress: TaskEntry[] = [];
  for (const entry of tasks.values()) {
    if (entry.head !== undefined) heads.push(entry);
    if (entry.progress !== undefined) progress.push(entry);
  }
  await insertTasks(query, heads, false);
  return updateTasks(query, progress);
}

/** `isWhole`: with their progress. Otherwise a task that exists keeps its own. */
export async function insertTasks(
  query: Query,
  entries: readonly TaskEntry[],
  isWhole: boolean,
): Promise<void> {
  if (entries.length === 0) return;
  const heads = entries.map(({ head }) => headSumOf(head as BatchRecord));
  const sums = entries.map(({ progress }) => (isWhole && progress ? progressSumOf(progress) : untouched));
  const [headBlock, block] = [new Block(), new Block()];
  for (const { head, progress } of entries) {
    headBlock.add(head);
    block.add(isWhole ? progress : undefined);
  }
  const text = `insert into tasks (id, submitted, size, queue, door, key, ${progressColumns}, head, progress)
    select id, submitted, size, queue, door, key, ${progressColumns}, substring($1::bytea, head_at, head_length),
      case when progress_length > 0 then substring($2::bytea, progress_at, progress_length) end
    from unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[],
      ${progressArrays(9)}, $16::int[], $17::int[], $18::int[], $19::int[])
      as n (id, submitted, size, queue, door, key, ${progressColumns},
        head_at, head_length, progress_at, progress_length)
    on conflict (id) do update set submitted = excluded.submitted, size = excluded.size,
      queue = excluded.queue, door = excluded.door, key = excluded.key, head = excluded.head,
      apart = tasks.apart or excluded.apart`;
  const own: Column[] = [
    heads.map(({ id }) => id),
    heads.map(({ submittedAt }) => submittedAt),
    heads.map(({ bytes }) => bytes),
    heads.map(({ queue }) => textOf(queue)),
    heads.map(({ door }) => textOf(door)),
    heads.map(({ key }) => (key === undefined ? null : textOf(key))),
  ];
  const { starts, lengths } = headBlock;
  const places: Column[] = [starts, lengths, block.starts, block.lengths];
  const apart = heads.map(({ isOutOfLine }) => isOutOfLine);
  const values = [headBlock.bytes, block.bytes, ...own, ...progressValues(sums, apart), ...places];
  await query({ text, name: "insert-tasks", values });
}

async function updateTasks(query: Query, entries: readonly TaskEntry[]): Promise<number[]> {
  if (entries.length === 0) return [];
  const sums = entries.map(({ progress }) => progressSumOf(progress as BatchRecord));
  const block = new Block();
  for (const { progress } of entries) block.add(progress);
  const text = `update tasks t set settled = n.settled, finished = n.finished,
      result_size = n.result_size, state = n.state, worker = n.worker, failed = n.failed,
      apart = t.apart or n.apart, progress = substring($1::bytea, n.progress_at, n.progress_length)
    from unnest($2::bigint[], ${progressArrays(3)}, $10::int[], $11::int[])
      as n (id, ${progressColumns}, progress_at, progress_length)
    where t.id = n.id returning t.settled`;
  const ids: Column = sums.map(({ id }) => id);
  const values = [block.bytes, ids, ...progressValues(sums), block.starts, block.lengths];
  const { rows } = await query<{ settled: number }>({ text, name: "update-tasks", values });
  return rows.map(({ settled }) => settled);
}

/** The columns that a progress fills, and their arrays from this parameter on. */
const progressColumns = "settled, finished, result_size, state, worker, failed, apart";

function progressArrays(first: number): string {
  const types = ["bigint", "bigint", "bigint", "text", "text", "boolean", "boolean"];
  return types.map((type, index) => `$${first + index}::${type}[]`).join(", ");
}

function progressValues(sums: readonly Progress[], apart: readonly boolean[] = []): Column[] {
  return [
    sums.map(({ settled }) => settled),
    sums.map(({ finishedAt }) => finishedAt),
    sums.map(({ resultBytes }) => resultBytes),
    sums.map(({ state }) => state),
    sums.map(({ worker }) => (worker === undefined ? null : textOf(worker))),
    sums.map(({ error }) => error !== undefined),
    sums.map(({ isOutOfLine }, index) => isOutOfLine || apart[index] === true),
  ];
}

type Progress = Omit<ProgressSum, "id">;

const untouched: Progress = {
  state: "waiting",
  worker: undefined,
  error: undefined,
  finishedAt: 0,
  settled: 0,
  resultBytes: 0,
  isOutOfLine: false,
};

function headSumOf({ bytes, start, end }: BatchRecord): HeadSum {
  reader.begin(bytes, start, end);
  return sumHead(reader);
}

function progressSumOf({ bytes, start, end }: BatchRecord): ProgressSum {
  reader.begin(bytes, start, end);
  return sumProgress(reader);
}

export async function writeItems(query: Query, items: Iterable<ItemEntry>): Promise<void> {
  const all = [...items];
  const puts = all.filter(({ put }) => put !== undefined);
  const gone = all.filter(({ put }) => put === undefined);
  if (gone.length > 0) await removeItems(query, gone);
  if (puts.length === 0) return;
  const block = new Block();
  for (const { put } of puts) block.add(put);
  const text = `insert into items (kind, name, task, bytes)
    select kind, name, task, substring($1::bytea, at, length)
    from unnest($2::int[], $3::text[], $4::bigint[], $5::int[], $6::int[]) as n (kind, name, task, at, length)
    on conflict (kind, name) do update set task = excluded.task, bytes = excluded.bytes`;
  const { starts, lengths } = block;
  const values = [block.bytes, ...itemKeys(puts), puts.map(({ task }) => task), starts, lengths];
  await query({ text, name: "put-items", values });
}

async function removeItems(query: Query, gone: readonly ItemEntry[]): Promise<void> {
  // One row for each task that a key may belong to; without one it is removed in any case.
  const rows = gone.flatMap((item) => (item.ofTasks ?? [null]).map((task) => ({ ...item, task })));
  const text = `delete from items i using unnest($1::int[], $2::text[], $3::bigint[]) as n (kind, name, task)
    where i.kind = n.kind and i.name = n.name and (n.task is null or i.task = n.task)`;
  const values = [...itemKeys(rows), rows.map(({ task }) => task)];
  await query({ text, name: "remove-items", values });
}

function itemKeys(items: readonly Pick<ItemEntry, "kind" | "name">[]): Column[] {
  return [items.map(({ kind }) => kind), items.map(({ name }) => name)];
}
