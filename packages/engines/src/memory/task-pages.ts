// The tasks of the memory engine, in pages of neighbouring ids. Ids are dense and rise, so a page is two small arrays:
// a task that waits costs one reference to its head, a settled one the number of its place in history, growing never copies what is there (a map of millions stops the
// process while it does), and walking down from the newest never counts through ids that are gone.

import type { StoredTask, TaskHead, TaskId, TaskProgress } from "@yardmaster/core";
import { OrderedMap } from "./ordered-map.js";

/** One task left of a page keeps the whole page: small, so that this is about the size of a task. */
export const pageSize = 64;

export class TaskPage {
  readonly firstId: number;
  readonly #entries: (Entry | undefined)[] = new Array(pageSize).fill(undefined);
  readonly #read: ReadSettled;
  /** Of those that are not settled. Made when the first of them makes progress. */
  #progress: (TaskProgress | undefined)[] | undefined;
  #count = 0;
  /** No task here was submitted outside of these. They only widen, so they may say too much, never too little. */
  submittedFrom = Number.POSITIVE_INFINITY;
  submittedTo = Number.NEGATIVE_INFINITY;

  constructor(firstId: number, read: ReadSettled) {
    this.firstId = firstId;
    this.#read = read;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  entry(id: number): Entry | undefined {
    return this.#entries[id - this.firstId];
  }

  task(id: number): StoredTask | undefined {
    const entry = this.#entries[id - this.firstId];
    if (typeof entry === "number") return this.#read(entry);
    return entry && { head: entry, progress: this.#progress?.[id - this.firstId] };
  }

  putHead(head: TaskHead): void {
    const slot = head.id - this.firstId;
    if (this.#entries[slot] === undefined) this.#count++;
    this.#entries[slot] = head;
    this.submittedFrom = Math.min(this.submittedFrom, head.submittedAt);
    this.submittedTo = Math.max(this.submittedTo, head.submittedAt);
  }

  putProgress(progress: TaskProgress): void {
    this.#progress ??= new Array(pageSize).fill(undefined);
    this.#progress[progress.id - this.firstId] = progress;
  }

  settle(id: number, settled: number): void {
    const slot = id - this.firstId;
    this.#entries[slot] = settled;
    if (this.#progress) this.#progress[slot] = undefined;
  }

  delete(id: number): void {
    const slot = id - this.firstId;
    if (this.#entries[slot] === undefined) return;
    this.#entries[slot] = undefined;
    if (this.#progress) this.#progress[slot] = undefined;
    this.#count--;
  }
}

/** The head of a task that is not settled, or the place in history of one that is. */
type Entry = TaskHead | number;
type ReadSettled = (settled: number) => StoredTask;

export class TaskPages {
  readonly #read: ReadSettled;
  readonly #pages = new OrderedMap<TaskPage>();
  /** The page looked at last: changes come in runs of neighbours. */
  #recent: TaskPage | undefined;

  constructor(read: ReadSettled) {
    this.#read = read;
  }

  entry(id: TaskId): Entry | undefined {
    return this.#page(id)?.entry(id);
  }

  task(id: TaskId): StoredTask | undefined {
    return this.#page(id)?.task(id);
  }

  putHead(head: TaskHead): void {
    const number = numberOf(head.id);
    let page = this.#pages.get(number);
    if (!page) {
      page = new TaskPage(number * pageSize, this.#read);
      this.#pages.set(number, page);
    }
    page.putHead(head);
  }

  /** Only for a task whose head is here. */
  putProgress(progress: TaskProgress): void {
    this.#page(progress.id)?.putProgress(progress);
  }

  /** Its records are in history now, at this place. */
  settle(id: TaskId, settled: number): void {
    this.#page(id)?.settle(id, settled);
  }

  delete(id: TaskId): void {
    const page = this.#pages.get(numberOf(id));
    page?.delete(id);
    if (page?.isEmpty) {
      this.#pages.delete(numberOf(id));
      this.#recent = undefined;
    }
  }

  #page(id: number): TaskPage | undefined {
    const recent = this.#recent;
    if (recent !== undefined && id >= recent.firstId && id < recent.firstId + pageSize) return recent;
    const page = this.#pages.get(numberOf(id));
    if (page !== undefined) this.#recent = page;
    return page;
  }

  /** The page with the greatest ids below this one; it may hold greater ones too. */
  pageBelow(id: number): TaskPage | undefined {
    return this.#pages.atOrBelow(numberOf(id - 1));
  }

  hasBelow(id: number): boolean {
    const page = this.#pages.first();
    for (let at = page?.firstId ?? id; at < id; at++) {
      // No page is empty, so this ends within the first one.
      if (page?.entry(at) !== undefined) return true;
    }
    return false;
  }

  /** Every task that is not settled, by rising id. */
  forEachUnsettled(visit: (head: TaskHead, progress: TaskProgress | undefined) => void): void {
    for (const [, page] of this.#pages.entries()) {
      for (let id = page.firstId; id < page.firstId + pageSize; id++) {
        const entry = page.entry(id);
        if (entry !== undefined && typeof entry !== "number") visit(entry, page.task(id)?.progress);
      }
    }
  }

  /** Every task, by rising id. */
  forEach(visit: (head: TaskHead, progress: TaskProgress | undefined) => void): void {
    for (const [, page] of this.#pages.entries()) {
      for (let id = page.firstId; id < page.firstId + pageSize; id++) {
        const task = page.task(id);
        if (task) visit(task.head, task.progress);
      }
    }
  }
}

function numberOf(id: number): number {
  return Math.floor(id / pageSize);
}
