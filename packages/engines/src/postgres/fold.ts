// Folds batches of the log into the tables: of all that a group of batches says about a task or an
// item, only the last is written. Runs in one transaction, which also moves the fold row on.

import { historyLaneStart, historySegmentOf, historySegmentSize, type TaskId } from "@yardmaster/core";
import type { Batch, BatchRecord } from "../durable/batches.js";
import { raise } from "../lane-marks.js";
import { RecordReader, readChange, recordKinds } from "../records/index.js";
import { isKept, takeBundles } from "./bundles.js";
import {
  type ItemEntry,
  type KeptTask,
  type TaskEntry,
  writeItems,
  writeKept,
  writeRows,
} from "./fold-writes.js";
import { type ItemChange, itemOf } from "./names.js";
import type { Query } from "./session.js";

const reader = new RecordReader();

export interface FoldState {
  /** The tables have the batches up to this one. */
  position: number;
  /** The highest task id ever stored. */
  lastTask: number;
  /** The highest place of each lane of history. */
  readonly lanes: number[];
  /** The last place of each lane that was trimmed. */
  readonly trimmed: number[];
}

export class Fold {
  readonly #query: Query;
  readonly #state: FoldState;
  /** What the group says, until it is flushed. */
  readonly #tasks = new Map<TaskId, TaskEntry>();
  readonly #items = new Map<string, ItemEntry>();
  /** New tasks, and those of bundles that change. They are written at the end. */
  readonly #kept = new Map<TaskId, KeptTask>();

  constructor(query: Query, state: FoldState) {
    this.#query = query;
    this.#state = state;
  }

  async apply(batches: readonly Batch[]): Promise<void> {
    const known = new Set<TaskId>();
    let isOrdered = false;
    for (const { records } of batches) {
      for (const { kind, task } of records) {
        if (kind === recordKinds.historyTrimmed) isOrdered = true;
        else if (task > 0 && task <= this.#state.lastTask) known.add(task);
      }
    }
    if (known.size > 0) await this.#take(known);
    isOrdered &&= await this.#hasHistory(known);
    for (const { records, number } of batches) {
      for (const record of records) {
        if (record.kind === recordKinds.historyTrimmed) await this.#trim(record.trimmed, isOrdered);
        else if (record.kind === recordKinds.head) await this.#putHead(record);
        else if (record.kind === recordKinds.progress) await this.#putProgress(record);
        else this.#putItem(record);
      }
      this.#state.position = number;
    }
    await this.#flush();
    await writeKept(this.#query, this.#kept.values(), this.#state.trimmed);
    await writeItems(this.#query, this.#items.values());
  }

  async #take(known: ReadonlySet<TaskId>): Promise<void> {
    for (const [index, tasks] of (await takeBundles(this.#query, known)).entries()) {
      for (const task of tasks) {
        if (isKept(task, this.#state.trimmed)) this.#kept.set(task.head.task, { ...task, range: index + 1 });
      }
    }
  }

  /** True if one of the tasks is in history. Then a trim must wait for what was said before it. */
  async #hasHistory(known: ReadonlySet<TaskId>): Promise<boolean> {
    const others: TaskId[] = [];
    for (const id of known) {
      const kept = this.#kept.get(id);
      if ((kept?.progress?.settled ?? 0) > 0) return true;
      if (kept === undefined) others.push(id);
    }
    if (others.length === 0) return false;
    const text = "select 1 from tasks where id = any($1::bigint[]) and settled > 0 limit 1";
    return (await this.#query({ text, name: "history", values: [`{${others.join(",")}}`] })).count > 0;
  }

  async #putHead(head: BatchRecord): Promise<void> {
    const { progress } = this.#tasks.get(head.task) ?? {};
    // That progress was of a task that does not exist, or of its older head. It is not this one's.
    if (progress !== undefined && head.task <= this.#state.lastTask) await this.#flush();
    this.#tasks.set(head.task, { ...this.#tasks.get(head.task), head });
  }

  async #putProgress(progress: BatchRecord): Promise<void> {
    const { task } = progress;
    const before = this.#tasks.get(task)?.progress;
    // The place in history that it leaves again stays taken.
    if (before !== undefined && before.settled > 0 && before.settled !== progress.settled)
      await this.#flush();
    const entry = this.#tasks.get(task);
    if (entry !== undefined) entry.progress = progress;
    // The progress of a task that was never there changes nothing.
    else if (task <= this.#state.lastTask) this.#tasks.set(task, { progress });
  }

  #putItem(record: BatchRecord): void {
    const change = readChange(reader, record.bytes, record.start, record.end) as ItemChange;
    const { kind, name } = itemOf(change);
    const at = `${kind} ${name}`;
    if (change.kind === "key") this.#items.set(at, { kind, name, put: record, task: change.key.task });
    else if (change.kind === "key-gone") this.#removeKey(at, { kind, name }, change.task);
    else if (change.kind === "queue-gone" || change.kind === "memo-gone") this.#items.set(at, { kind, name });
    else this.#items.set(at, { kind, name, put: record, task: 0 });
  }

  /** A newer task may own the key by now; its record stays. */
  #removeKey(at: string, item: { kind: number; name: string }, task: TaskId): void {
    const entry = this.#items.get(at);
    if (entry === undefined) this.#items.set(at, { ...item, ofTasks: [task] });
    else if (entry.put === undefined) entry.ofTasks?.push(task);
    else if (entry.task === task) this.#items.set(at, item);
  }

  /**
   * Without `isOrdered`, what was said before the trim may be written after it, unless it is about
   * the trimmed places.
   */
  async #trim(through: number, isOrdered: boolean): Promise<void> {
    const from = historyLaneStart(through);
    const isTrimmed = ({ progress }: TaskEntry) => {
      const segment = historySegmentOf(progress?.settled ?? 0);
      return segment >= from && segment <= through;
    };
    if (isOrdered || [...this.#tasks.values()].some(isTrimmed)) await this.#flush();
    // Without the second condition the planner cannot use the indexes, which have only these rows.
    const text = `with gone as (
        delete from tasks where settled between $1 and $2 and settled > 0 returning id, apart),
        bundled as (delete from bundles where place between $1 and $2 and place > 0)
      delete from bodies using gone where apart and task = gone.id`;
    const last = (through + 1) * historySegmentSize;
    await this.#query({ text, name: "trim", values: [from * historySegmentSize + 1, last] });
    raise(this.#state.trimmed, last);
    for (const [id, task] of this.#kept) if (!isKept(task, this.#state.trimmed)) this.#kept.delete(id);
  }

  async #flush(): Promise<void> {
    const state = this.#state;
    const { lastTask } = state;
    const rows = new Map<TaskId, TaskEntry>();
    for (const [id, entry] of this.#tasks) {
      const kept = this.#kept.get(id);
      if (kept === undefined && id <= lastTask) {
        rows.set(id, entry);
        continue;
      }
      this.#kept.set(id, { range: 0, ...kept, ...entry } as KeptTask);
      raise(state.lanes, entry.progress?.settled ?? 0);
      state.lastTask = Math.max(id, state.lastTask);
    }
    for (const settled of await writeRows(this.#query, rows)) raise(state.lanes, settled);
    this.#tasks.clear();
  }
}
