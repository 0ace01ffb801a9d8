// The questions that the tables answer. Each answer says up to which batch it has everything, and
// comes from one snapshot.

import type { StoredTask, TaskId } from "@yardmaster/core";
import { cursorBelow, startOf } from "../cursor.js";
import type { StoredTasks, StoreReads } from "../durable/tail-reads.js";
import { type BodyPart, type LoadItem, loadedMemoBytesMax, type TaskQuery } from "../engine.js";
import { lastPlaces } from "../lane-marks.js";
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
import { itemName, textOf } from "./names.js";
import type { Query, Session } from "./session.js";

/** Bodies are written and read in pieces of this size. */
export const pieceBytes = 4 * 2 ** 20;
export const partNumbers: Readonly<Record<BodyPart, number>> = { payload: 0, result: 1 };

const loadedAtOnce = 4096;
/** For a text the server cannot decide what matches, so candidates come in pages. */
const candidatesAtOnce = 512;
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

/** Without a task there is one row, which says how far the tables go. */
type FoundRow = (TaskRow | { readonly id: null }) & { readonly through: number };

interface SegmentRow {
  readonly index: number;
  readonly count: number;
  readonly bytes: number;
  readonly finished: number;
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
    const text = `select f.position as through, t.id, t.head, t.progress
      from fold f left join tasks t on t.id = any($1::bigint[])`;
    const values = [`{${ids.join(",")}}`];
    const rows = await this.#rows<FoundRow>({ text, name: "tasks", values });
    return { tasks: rows.filter(isTask).map(taskOf), through: rows[0]?.through ?? 0 };
  }

  /** For a text several statements may be needed, which must see the same snapshot. */
  find(query: TaskQuery): Promise<StoredTasks> {
    const session = this.#searches;
    return session.patiently(() =>
      isTextual(query)
        ? session.transaction("begin isolation level repeatable read read only", (ask) => findIn(ask, query))
        : session.use((ask) => findIn(ask, query)),
    );
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
    const segments = await this.#rows<SegmentRow>({
      text: `select (settled - 1) / 256 as index, count(*) as count, max(finished) as finished,
          sum(size + result_size)::bigint as bytes
        from tasks where settled > 0 group by 1 order by 1`,
    });
    for (const { finished, ...segment } of segments)
      take({ type: "segment", segment: { ...segment, lastFinishedAt: finished as never } });
    const [last] = await this.#rows<{ last_task: number; lanes: string }>({
      text: "select last_task, lanes from fold",
    });
    const lanes = JSON.parse(last?.lanes ?? "[0]") as number[];
    take({ type: "end", lastTask: (last?.last_task ?? 0) as TaskId, ...lastPlaces(lanes) });
  }

  async #rows<Row>(statement: Parameters<Query>[0]): Promise<readonly Row[]> {
    const { rows } = await this.#session.patiently(() => this.#session.query<Row>(statement));
    return rows;
  }
}

/** Streams what the tables have but history, with several statements. */
export async function loadLive(ask: Query, take: (item: LoadItem) => void): Promise<void> {
  const text = `select id, head, progress from tasks where settled = 0 and id > $1 order by id limit ${loadedAtOnce}`;
  const page = async (above: number) => (await ask<TaskRow>({ text, name: "load", values: [above] })).rows;
  for (let next: ReturnType<typeof page> | undefined = page(-1); next !== undefined; ) {
    const rows: readonly TaskRow[] = await next;
    // The server reads the next page while this one is decoded.
    next = rows.length < loadedAtOnce ? undefined : page(rows.at(-1)?.id ?? 0);
    for (const row of rows) take({ type: "task", task: taskOf(row) });
  }
  await loadItems(ask, take);
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

function isTextual({ text, messagePrefix }: TaskQuery): boolean {
  return text !== undefined || messagePrefix !== undefined;
}

async function findIn(ask: Query, query: TaskQuery): Promise<StoredTasks> {
  const tasks: StoredTask[] = [];
  const limit = isTextual(query) ? Math.max(query.limit, candidatesAtOnce) : query.limit;
  for (let below = Math.min(startOf(query), Number.MAX_SAFE_INTEGER); ; ) {
    const { rows } = await ask<FoundRow>(candidates(query, below, limit));
    const through = rows[0]?.through ?? 0;
    const found = rows.filter(isTask);
    for (const row of found) {
      const task = taskOf(row);
      if (!isAskedFor(query, task.head, task.progress)) continue;
      tasks.push(task);
      if (tasks.length === query.limit) return { tasks, through, cursor: cursorBelow(task.head.id, query) };
    }
    if (found.length < limit) return { tasks, through, cursor: undefined };
    below = found.at(-1)?.id ?? 0;
  }
}

/** Every match, and for a text also tasks that may match. */
function candidates(query: TaskQuery, below: number, limit: number) {
  const { queue, state, door, worker, since, until, text, messagePrefix } = query;
  const values: unknown[] = [below];
  const conditions = ["id < $1"];
  const add = (condition: string, value: string | number | undefined) => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition.replaceAll("?", `$${values.length}`));
  };
  add("queue = ?", queue && textOf(queue));
  add("state = ?", state);
  add("door = ?", door && textOf(door));
  add("worker = ?", worker && textOf(worker));
  add("submitted >= ?", since);
  add("submitted < ?", until);
  if (messagePrefix !== undefined) conditions.push("failed");
  add("? in (key, id::text, case when failed then ? end)", text && textOf(text));
  const rows = `select id, head, progress from tasks where ${conditions.join(" and ")}
    order by id desc limit ${limit}`;
  return { text: `select position as through, t.* from fold left join lateral (${rows}) t on true`, values };
}

function isTask(row: FoundRow): row is TaskRow & FoundRow {
  return row.id !== null;
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
