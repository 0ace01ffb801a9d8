// What a standby keeps in memory of the yard: unsettled tasks, and the records that belong to no
// task. It applies batches as the fold does, so that a take-over need not load all this from the
// tables. History stays in the tables.
//
// A record of a task that the mirror does not have may be about a task of history: one that comes
// back to be tried again, or whose head changes. Such a task is unsure, and is looked up in the
// tables once they have the batch.

import assert from "node:assert/strict";
import type { StoredTask, TaskId } from "@yardmaster/core";
import type { Batch, BatchRecord } from "../durable/batches.js";
import { type LoadItem, loadedMemoBytesMax } from "../engine.js";
import { RecordReader, readChange, readHead, readProgress, recordKinds } from "../records/index.js";
import type { TaskEntry } from "./fold-writes.js";
import { type ItemChange, itemOf } from "./names.js";

/** A page is taken in about 10 ms. */
const pageLength = 10_000;

/** Copies, because the mirror keeps a record longer than the batch that it came in. */
const reader = new RecordReader({ copies: true });

export class Mirror {
  /** It has the batches up to this one. */
  position: number;
  /** The highest task id so far. */
  #lastTask: number;
  readonly #tasks = new Map<TaskId, StoredTask>();
  readonly #items = new Map<string, LoadItem>();
  /** By task: the last batch with a record of it. */
  readonly #unsure = new Map<TaskId, number>();

  constructor(position: number, lastTask: number) {
    this.position = position;
    this.#lastTask = lastTask;
  }

  /** Takes what the tables have at its position. */
  take(item: LoadItem): void {
    if (item.type === "task") this.#tasks.set(item.task.head.id, item.task);
    else if (item.type !== "segment" && item.type !== "end") this.#items.set(placeOf(item), item);
  }

  /** The batches follow its position without a gap. */
  apply(batches: readonly Batch[]): void {
    // Only what remains of a task after all of them is decoded.
    const changed = new Map<TaskId, TaskEntry>();
    for (const { records, number } of batches) {
      for (const record of records) {
        if (record.kind === recordKinds.head) this.#putHead(changed, record, number);
        else if (record.kind === recordKinds.progress) this.#putProgress(changed, record, number);
        else if (record.kind !== recordKinds.historyTrimmed) this.#putItem(record);
      }
      this.position = number;
    }
    for (const [id, { head, progress }] of changed) {
      const before = this.#tasks.get(id);
      this.#tasks.set(id, {
        head: head === undefined ? (before as StoredTask).head : readHead(begun(head)),
        progress: progress === undefined ? before?.progress : readProgress(begun(progress)),
      });
    }
  }

  /** Tasks that have to be looked up. */
  unsure(limit: number): TaskId[] {
    const ids: TaskId[] = [];
    for (const id of this.#unsure.keys()) if (ids.push(id) === limit) break;
    return ids;
  }

  /**
   * The tables, which have everything up to batch `through`, were asked for these tasks. False if
   * that was too early for all of them.
   */
  lookedUp(ids: readonly TaskId[], found: readonly StoredTask[], through: number): boolean {
    const byId = new Map(found.map((task) => [task.head.id, task]));
    const sure = ids.filter((id) => (this.#unsure.get(id) ?? Number.POSITIVE_INFINITY) <= through);
    for (const id of sure) {
      this.#unsure.delete(id);
      const task = byId.get(id);
      if (task !== undefined && (task.progress?.settled ?? 0) === 0) this.#tasks.set(id, task);
    }
    return sure.length > 0;
  }

  /**
   * Everything but history, as the tables would give it, in pages. No task may be unsure, and no
   * batch may be applied meanwhile.
   */
  *pages(): Generator<readonly LoadItem[]> {
    assert.equal(this.#unsure.size, 0, "tasks of the mirror were not looked up");
    const ids = Float64Array.from(this.#tasks.keys()).sort();
    for (let from = 0; from < ids.length; from += pageLength) {
      const page = [...ids.subarray(from, from + pageLength)] as TaskId[];
      yield page.map((id) => ({ type: "task", task: this.#tasks.get(id) as StoredTask }));
    }
    yield [...this.#items.values()];
  }

  #putHead(changed: Map<TaskId, TaskEntry>, head: BatchRecord, number: number): void {
    const { task } = head;
    const isNew = task > this.#lastTask;
    if (isNew) this.#lastTask = task;
    if (isNew || this.#isKnown(changed, task)) changed.set(task, { ...changed.get(task), head });
    else this.#unsure.set(task, number);
  }

  #putProgress(changed: Map<TaskId, TaskEntry>, progress: BatchRecord, number: number): void {
    const { task, settled } = progress;
    if (settled > 0) {
      this.#tasks.delete(task);
      changed.delete(task);
      this.#unsure.delete(task);
    } else if (this.#isKnown(changed, task)) changed.set(task, { ...changed.get(task), progress });
    // The progress of a task that was never there changes nothing.
    else if (task <= this.#lastTask) this.#unsure.set(task, number);
  }

  #isKnown(changed: ReadonlyMap<TaskId, TaskEntry>, task: TaskId): boolean {
    return changed.has(task) || this.#tasks.has(task);
  }

  #putItem(record: BatchRecord): void {
    const change = readChange(reader, record.bytes, record.start, record.end) as ItemChange;
    const { kind, name } = itemOf(change);
    const at = `${kind} ${name}`;
    const item = itemIn(change);
    if (item !== undefined) this.#items.set(at, item);
    else if (change.kind !== "key-gone") this.#items.delete(at);
    else {
      // A newer task may own the key by now; its record stays.
      const kept = this.#items.get(at);
      if (kept?.type === "key" && kept.key.task === change.task) this.#items.delete(at);
    }
  }
}

/** What a change puts; undefined if it removes something. */
function itemIn(change: ItemChange): Exclude<LoadItem, { type: "task" | "segment" | "end" }> | undefined {
  if (change.kind === "key") return { type: "key", key: change.key };
  if (change.kind === "queue") return { type: "queue", queue: change.queue };
  if (change.kind === "door") return { type: "door", door: change.door };
  if (change.kind !== "memo") return undefined;
  const { memo } = change;
  if (memo.bytes.length <= loadedMemoBytesMax) return { type: "memo", memo };
  return { type: "large-memo", door: memo.door, name: memo.name, size: memo.bytes.length };
}

function placeOf(item: Exclude<LoadItem, { type: "task" | "segment" | "end" }>): string {
  const { kind, name } = itemOf(
    item.type === "large-memo"
      ? { kind: "memo-gone", ...item }
      : ({ kind: item.type, ...item } as ItemChange),
  );
  return `${kind} ${name}`;
}

function begun({ bytes, start, end }: BatchRecord): RecordReader {
  reader.begin(bytes, start, end);
  return reader;
}
