// The questions that the tables answer. Each answer says up to which batch it has everything, and
// comes from one snapshot.

import {
  type HistorySegment,
  historySegmentSize,
  type StoredTask,
  type TaskId,
  type WallTime,
} from "@yardmaster/core";
import { cursorBelow, startOf } from "../cursor.js";
import type { Place } from "../durable/batches.js";
import type { StoredTasks, StoreReads } from "../durable/tail-reads.js";
import { type BodyPart, type LoadItem, loadedMemoBytesMax, type TaskQuery } from "../engine.js";
import { isBeyond, type LaneMarks, lastPlaces } from "../lane-marks.js";
import {
  RecordReader,
  readDoor,
  readHead,
  readKey,
  readMemo,
  readProgress,
  readQueue,
  recordKinds,
} from "../records/index.js";
import { isAskedFor } from "../task-filter.js";
import {
  isKept,
  overlaps,
  rangesOf,
  searchedTerm,
  type TaskRecords,
  type TermField,
  tasksIn,
} from "./bundles.js";
import { itemName, textOf } from "./names.js";
import type { Query, Session } from "./session.js";

/** Bodies are written and read in pieces of this size. */
export const pieceBytes = 4 * 2 ** 20;
export const partNumbers: Readonly<Record<BodyPart, number>> = { payload: 0, result: 1 };

const loadedAtOnce = 4096;
/** For a text the server cannot decide what matches, so candidates come in pages. */
const candidatesAtOnce = 512;
/** A search begins with few bundles, and takes more if there were no matches in them. */
const bundlesAtOnce = { first: 16, most: 256, loaded: 64 };
/** Enough for the names in front of a memo's bytes. */
const memoPrefixBytes = 4096;
/** A longer record is that of a memo that is loaded without its bytes. */
const wholeMemoBytesMax = loadedMemoBytesMax + memoPrefixBytes;

const reader = new RecordReader();

interface TaskRow {
  readonly id: number;
  readonly head: Buffer;
  readonly progress: Buffer | null;
}

/** A task, or a bundle by its first task. If nothing is found there is one row without an id. */
interface FoundRow {
  /** How far the tables go. */
  readonly through: number;
  readonly trimmed: string;
  readonly id: number | null;
  readonly head: Buffer | null;
  readonly progress: Buffer | null;
  readonly bundle: Buffer | null;
}

interface SegmentRow {
  readonly index: number;
  readonly count: number;
  readonly bytes: number;
  readonly finished: number;
  readonly bundled: boolean;
}

export class TableReads implements StoreReads {
  readonly #session: Session;
  /** Searches may take long, and others do not wait for them. */
  readonly #searches: Session;

  constructor(session: Session, searches: Session) {
    this.#session = session;
    this.#searches = searches;
  }

  async tasks(ids: readonly TaskId[]): Promise<StoredTasks> {
    const text = foundIn(`select id, head, progress, null::bytea as bundle from tasks
        where id = any($1::bigint[])
      union all
      select distinct on (b.first) b.first, null, null, b.bytes
        from bundles b, unnest($2::bigint[], $3::bigint[]) n (low, high) where ${overlaps}`);
    const values = [`{${ids.join(",")}}`, ...rangesOf(ids)];
    const rows = await this.#rows<FoundRow>({ text, name: "tasks", values });
    const asked = new Set(ids);
    return readFound(rows, (id) => asked.has(id));
  }

  /** Several statements may be needed, which must see the same snapshot. */
  find(query: TaskQuery): Promise<StoredTasks> {
    const session = this.#searches;
    const begin = "begin isolation level repeatable read read only";
    return session.patiently(() => session.transaction(begin, (ask) => findIn(ask, query)));
  }

  async bodyBytes(task: TaskId, part: BodyPart, size: number): Promise<Uint8Array | undefined> {
    const bytes = Buffer.alloc(size);
    const text = "select bytes from bodies where task = $1 and part = $2 and piece = $3";
    for (let from = 0, piece = 0; from < size; from += pieceBytes, piece++) {
      const values = [task, partNumbers[part], piece];
      const [row] = await this.#rows<{ bytes: Buffer }>({ text, name: "body", values });
      if (row === undefined) return undefined;
      bytes.set(row.bytes.subarray(0, size - from), from);
    }
    return bytes;
  }

  async memo(door: string, name: string): Promise<Uint8Array | undefined> {
    const text = "select bytes from items where kind = $1 and name = $2";
    const values = [recordKinds.memo, itemName(door, name)];
    const [row] = await this.#rows<{ bytes: Buffer }>({ text, name: "memo", values });
    return row && readMemo(begun(row.bytes)).bytes;
  }

  /** The log must have been folded. */
  loadLive(take: (item: LoadItem) => void): Promise<void> {
    return loadLive((statement) => this.#session.patiently(() => this.#session.query(statement)), take);
  }

  /** The log must have been folded. */
  async loadHistory(take: (item: LoadItem) => void): Promise<void> {
    const [last] = await this.#rows<{ last_task: number; lanes: string; trimmed: string }>({
      text: "select last_task, lanes, trimmed from fold",
    });
    const trimmed = marksIn(last?.trimmed);
    const rows = await this.#rows<SegmentRow>({
      text: `select (settled - 1) / 256 as index, count(*) as count, max(finished) as finished,
          sum(size + result_size)::bigint as bytes, false as bundled
        from tasks where settled > 0 group by 1
        union all
        select sums[i], sum(sums[i + 1])::bigint, max(sums[i + 3]), sum(sums[i + 2])::bigint, true
        from bundles, generate_series(1, array_length(sums, 1), 4) i group by 1`,
    });
    const segments = new Map<number, HistorySegment>();
    for (const { index, count, bytes, finished, bundled } of rows) {
      if (bundled && !isBeyond(trimmed, (index + 1) * historySegmentSize)) continue;
      const other = segments.get(index) ?? { count: 0, bytes: 0, lastFinishedAt: 0 };
      const lastFinishedAt = Math.max(finished, other.lastFinishedAt) as WallTime;
      segments.set(index, { index, count: count + other.count, bytes: bytes + other.bytes, lastFinishedAt });
    }
    const byIndex = (one: HistorySegment, other: HistorySegment) => one.index - other.index;
    for (const segment of [...segments.values()].sort(byIndex)) take({ type: "segment", segment });
    take({ type: "end", lastTask: (last?.last_task ?? 0) as TaskId, ...lastPlaces(marksIn(last?.lanes)) });
  }

  async #rows<Row>(statement: Parameters<Query>[0]): Promise<readonly Row[]> {
    const { rows } = await this.#session.patiently(() => this.#session.query<Row>(statement));
    return rows;
  }
}

/** Streams what the tables have but history, with several statements. */
export async function loadLive(ask: Query, take: (item: LoadItem) => void): Promise<void> {
  const rows = new LiveTasks<TaskRow>(ask, liveRows, (row) => [taskOf(row)]);
  const bundles = new LiveTasks<{ id: number; bytes: Buffer }>(ask, liveBundles, ({ bytes }) =>
    tasksIn(bytes).flatMap((task) => ((task.progress?.settled ?? 0) > 0 ? [] : bundledTask(task))),
  );
  for (;;) {
    const row = (await rows.first())?.head.id ?? Number.POSITIVE_INFINITY;
    const bundled = (await bundles.first())?.head.id ?? Number.POSITIVE_INFINITY;
    if (row === bundled) break;
    for (const task of row < bundled ? rows.below(bundled) : bundles.below(row)) take({ type: "task", task });
  }
  await loadItems(ask, take);
}

const liveRows = {
  text: `select id, head, progress from tasks where settled = 0 and id > $1
    order by id limit ${loadedAtOnce}`,
  name: "live-rows",
};
const liveBundles = {
  text: `select first as id, bytes from bundles where place = 0 and first > $1
    order by first limit ${bundlesAtOnce.loaded}`,
  name: "live-bundles",
};

/** The live tasks of one table, by rising id. */
class LiveTasks<Row extends { readonly id: number }> {
  readonly #ask: (above: number) => Promise<readonly Row[]>;
  readonly #tasksOf: (row: Row) => StoredTask[];
  #page: Promise<readonly Row[]> | undefined;
  #tasks: readonly StoredTask[] = [];
  #at = 0;

  constructor(ask: Query, statement: { text: string; name: string }, tasksOf: (row: Row) => StoredTask[]) {
    this.#tasksOf = tasksOf;
    this.#ask = async (above) => (await ask<Row>({ ...statement, values: [above] })).rows;
    this.#turn(-1);
  }

  async first(): Promise<StoredTask | undefined> {
    while (this.#at === this.#tasks.length && this.#page !== undefined) {
      const rows = await this.#page;
      this.#turn(rows.at(-1)?.id);
      this.#tasks = rows.flatMap(this.#tasksOf);
      this.#at = 0;
    }
    return this.#tasks[this.#at];
  }

  /** Further tasks that were read and are below this id. */
  *below(id: number): Generator<StoredTask> {
    for (; this.#at < this.#tasks.length; this.#at++) {
      const task = this.#tasks[this.#at] as StoredTask;
      if (task.head.id >= id) return;
      yield task;
    }
  }

  /** The server reads the next page while this one is decoded. */
  #turn(last: number | undefined): void {
    this.#page = last === undefined ? undefined : this.#ask(last);
    // If the other table fails first, there is no one left to tell.
    this.#page?.catch(() => {});
  }
}

async function loadItems(ask: Query, take: (item: LoadItem) => void): Promise<void> {
  const text = `select kind, name, octet_length(bytes) as length,
      case when octet_length(bytes) > $3 then substring(bytes, 1, ${memoPrefixBytes}) else bytes end as bytes
    from items where kind = $1 and name > $2 order by name limit ${loadedAtOnce}`;
  const kinds = [recordKinds.key, recordKinds.queue, recordKinds.door, recordKinds.memo];
  for (const kind of kinds) {
    for (let above = ""; ; ) {
      const values = [kind, above, kind === recordKinds.memo ? wholeMemoBytesMax : 2 ** 31 - 1];
      const { rows } = await ask<{ name: string; bytes: Buffer; length: number }>({ text, values });
      for (const { bytes, length } of rows) take(itemIn(kind, bytes, length));
      if (rows.length < loadedAtOnce) break;
      above = rows.at(-1)?.name ?? "";
    }
  }
}

async function findIn(ask: Query, query: TaskQuery): Promise<StoredTasks> {
  const matches: StoredTask[] = [];
  const isTextual = query.text !== undefined || query.messagePrefix !== undefined;
  const rowsMax = Math.max(query.limit, isTextual ? candidatesAtOnce : 0);
  let bundlesMax = bundlesAtOnce.first;
  for (let below = Math.min(startOf(query), Number.MAX_SAFE_INTEGER); ; ) {
    const { rows } = await ask<FoundRow>(candidates(query, below, rowsMax, bundlesMax));
    const found = readFound(rows);
    // From here on up, everything that may match is in this page.
    const floor = Math.max(lowestOf(found.ownIds, rowsMax), lowestOf(found.bundleIds, bundlesMax));
    const known = found.tasks.filter(({ head: { id } }) => id < below && id >= floor);
    for (const task of known.sort((one, other) => other.head.id - one.head.id)) {
      if (!isAskedFor(query, task.head, task.progress)) continue;
      matches.push(task);
      if (matches.length < query.limit) continue;
      return { tasks: matches, through: found.through, cursor: cursorBelow(task.head.id, query) };
    }
    if (floor === 0) return { tasks: matches, through: found.through, cursor: undefined };
    below = floor;
    bundlesMax = Math.min(bundlesMax * 4, bundlesAtOnce.most);
  }
}

/** The least of a full page; 0 if there are no more. */
function lowestOf(ids: readonly number[], pageLength: number): number {
  return ids.length < pageLength ? 0 : Math.min(...ids);
}

/** Every row that matches, for a text also rows that may match, and bundles that may have some. */
function candidates(query: TaskQuery, below: number, rowsMax: number, bundlesMax: number) {
  const { queue, state, door, worker, since, until, text, messagePrefix } = query;
  const values: unknown[] = [];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const start = parameter(below);
  const own = [`id < ${start}`];
  const bundled = [`first < ${start}`];
  const hasTerm = (term: string) => `strpos(terms, ${parameter(term)}) > 0`;
  for (const [field, name] of Object.entries({ queue, state, door, worker })) {
    if (name === undefined) continue;
    own.push(`${field} = ${parameter(textOf(name))}`);
    bundled.push(hasTerm(searchedTerm(field as TermField, name)));
  }
  if (since !== undefined) own.push(`submitted >= ${parameter(since)}`);
  if (since !== undefined) bundled.push(`until >= ${parameter(since)}`);
  if (until !== undefined) own.push(`submitted < ${parameter(until)}`);
  if (until !== undefined) bundled.push(`since < ${parameter(until)}`);
  if (messagePrefix !== undefined) for (const conditions of [own, bundled]) conditions.push("failed");
  if (text !== undefined) {
    const said = parameter(textOf(text));
    own.push(`${said} in (key, id::text, case when failed then ${said} end)`);
    const hasId = `${parameter(idIn(text))}::bigint between first and last`;
    bundled.push(`(failed or ${hasTerm(searchedTerm("key", text))} or ${hasId})`);
  }
  const rows = `(select id, head, progress, null::bytea as bundle from tasks
      where ${own.join(" and ")} order by id desc limit ${rowsMax})
    union all (select first, null, null, bytes from bundles
      where ${bundled.join(" and ")} order by first desc limit ${bundlesMax})`;
  return { text: foundIn(rows), values };
}

/** The task id that a text is; otherwise one that no task has. */
function idIn(text: string): number {
  const id = Number(text);
  return Number.isSafeInteger(id) && String(id) === text ? id : -1;
}

/** These rows, with how far the tables go. */
function foundIn(rows: string): string {
  return `select position as through, trimmed, t.* from fold left join lateral (${rows}) t on true`;
}

interface Found {
  readonly tasks: StoredTask[];
  readonly through: number;
  /** The tasks that have a row of their own. */
  readonly ownIds: number[];
  /** The first tasks of bundles. */
  readonly bundleIds: number[];
}

function readFound(rows: readonly FoundRow[], isWanted = (_id: TaskId) => true): Found {
  const [state] = rows;
  const found: Found = { tasks: [], through: state?.through ?? 0, ownIds: [], bundleIds: [] };
  const trimmed = marksIn(state?.trimmed);
  for (const { id, head, progress, bundle } of rows) {
    if (id === null) continue;
    if (head !== null) {
      found.ownIds.push(id);
      found.tasks.push(taskOf({ id, head, progress }));
    }
    if (bundle === null) continue;
    found.bundleIds.push(id);
    for (const task of tasksIn(bundle)) {
      if (isWanted(task.head.task) && isKept(task, trimmed)) found.tasks.push(bundledTask(task));
    }
  }
  return found;
}

function marksIn(json = "[0]"): LaneMarks {
  return JSON.parse(json) as number[];
}

function taskOf({ head, progress }: TaskRow): StoredTask {
  return {
    head: readHead(begun(head)),
    progress: progress === null ? undefined : readProgress(begun(progress)),
  };
}

function itemIn(kind: number, bytes: Buffer, length: number): LoadItem {
  const from = begun(bytes);
  if (kind === recordKinds.key) return { type: "key", key: readKey(from) };
  if (kind === recordKinds.queue) return { type: "queue", queue: readQueue(from) };
  if (kind === recordKinds.door) return { type: "door", door: readDoor(from) };
  if (length <= bytes.length) {
    const memo = readMemo(from);
    if (memo.bytes.length <= loadedMemoBytesMax) return { type: "memo", memo };
    return { type: "large-memo", door: memo.door, name: memo.name, size: memo.bytes.length };
  }
  return { type: "large-memo", door: from.name(), name: from.string(), size: from.number() };
}

function begun(bytes: Buffer): RecordReader {
  reader.begin(bytes, 0, bytes.length);
  return reader;
}

function bundledTask({ head, progress }: TaskRecords): StoredTask {
  return { head: readHead(begunAt(head)), progress: progress && readProgress(begunAt(progress)) };
}

function begunAt({ bytes, start, end }: Place): RecordReader {
  reader.begin(bytes, start, end);
  return reader;
}
