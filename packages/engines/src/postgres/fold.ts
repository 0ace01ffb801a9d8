// Folds batches of the log into the tables: of all that a group of batches says about a task or an
// item, only the last is written. Runs in one transaction, which also moves the fold row on.

import { historyLaneStart, historySegmentOf, historySegmentSize, type TaskId } from "@yardmaster/core";
import type { Batch, BatchRecord } from "../durable/batches.js";
import { raise } from "../lane-marks.js";
import { RecordReader, readChange, recordKinds } from "../records/index.js";
import { type ItemEntry, type TaskEntry, writeItems, writeTasks } from "./fold-writes.js";
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
}

export class Fold {
  readonly #query: Query;
  readonly #state: FoldState;
  readonly #tasks = new Map<TaskId, TaskEntry>();
  readonly #items = new Map<string, ItemEntry>();

  constructor(query: Query, state: FoldState) {
    this.#query = query;
    this.#state = state;
  }

  async apply(batches: readonly Batch[]): Promise<void> {
    const isOrdered = await this.#movesHistory(batches);
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
    await writeItems(this.#query, this.#items.values());
  }

  /**
   * True if the group trims, and has a record of a task that is in history already. Then a trim
   * must wait for what was said before it.
   */
  async #movesHistory(batches: readonly Batch[]): Promise<boolean> {
    const known = new Set<TaskId>();
    let trims = false;
    for (const { records } of batches) {
      for (const { kind, task } of records) {
        if (kind === recordKinds.historyTrimmed) trims = true;
        else if (task > 0 && task <= this.#state.lastTask) known.add(task);
      }
    }
    if (!trims || known.size === 0) return false;
    const text = "select 1 from tasks where id = any($1::bigint[]) and settled > 0 limit 1";
    const { count } = await this.#query({ text, name: "moves", values: [`{${[...known].join(",")}}`] });
    return count > 0;
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
    const text = `with gone as (delete from tasks where settled between $1 and $2 returning id, apart)
      delete from bodies using gone where apart and task = gone.id`;
    const values = [from * historySegmentSize + 1, (through + 1) * historySegmentSize];
    await this.#query({ text, name: "trim", values });
  }

  async #flush(): Promise<void> {
    const state = this.#state;
    for (const settled of await writeTasks(this.#query, this.#tasks, state.lastTask)) {
      raise(state.lanes, settled);
    }
    for (const [id, { head }] of this.#tasks) {
      if (head !== undefined && id > state.lastTask) state.lastTask = id;
    }
    this.#tasks.clear();
  }
}
