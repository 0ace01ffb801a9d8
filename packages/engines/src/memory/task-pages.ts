// The tasks of the memory engine, in pages of neighbouring ids. Ids are dense and rise, so a page
// is two small arrays. A waiting task costs one reference to its head, and a settled one its
// position in history. Growing never copies existing entries, whereas a map of millions stops the
// process to do so. A walk down from the newest task skips ids that are gone.

import type { StoredTask, TaskHead, TaskId, TaskProgress } from "@yardmaster/core";
import { OrderedMap } from "./ordered-map.js";

/** A single remaining task keeps its whole page, so a page is about as large as a task. */
export const pageSize = 64;

export class MemoryPage {
  readonly firstId: number;
  readonly #entries: (Entry | undefined)[] = new Array(pageSize).fill(undefined);
  readonly #read: ReadSettled;
  /** Progress of unsettled tasks. Created when the first of them makes progress. */
  #progress: (TaskProgress | undefined)[] | undefined;
  #count = 0;
  /**
   * All tasks here were submitted within these times. They only widen, so they may include too
   * much, never too little.
   */
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

/** The head of an unsettled task, or the position in history of a settled one. */
type Entry = TaskHead | number;
type ReadSettled = (settled: number) => StoredTask;

export class TaskPages {
  readonly #read: ReadSettled;
  readonly #pages = new OrderedMap<MemoryPage>();
  /** The page used last: changes come in runs of neighbours. */
  #recent: MemoryPage | undefined;

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
      page = new MemoryPage(number * pageSize, this.#read);
      this.#pages.set(number, page);
    }
    page.putHead(head);
  }

  /** The task's head must be here. */
  putProgress(progress: TaskProgress): void {
    this.#page(progress.id)?.putProgress(progress);
  }

  /** Its records are now in history, at this position. */
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

  #page(id: number): MemoryPage | undefined {
    const recent = this.#recent;
    if (recent !== undefined && id >= recent.firstId && id < recent.firstId + pageSize) return recent;
    const page = this.#pages.get(numberOf(id));
    if (page !== undefined) this.#recent = page;
    return page;
  }

  /** The page with the highest ids below this one; it may also hold higher ones. */
  pageBelow(id: number): MemoryPage | undefined {
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

  /** Every unsettled task, by rising id. */
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
