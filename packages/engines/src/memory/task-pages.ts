// The tasks of the memory engine, in pages of neighbouring ids. Ids are dense and rise, so a page is two small arrays:
// a task that waits costs one reference to its head, growing never copies what is there (a map of millions stops the
// process while it does), and walking down from the newest never counts through ids that are gone.

import type { TaskHead, TaskId, TaskProgress } from "@yardmaster/core";
import { OrderedMap } from "./ordered-map.js";

/** One task left of a page keeps the whole page: small, so that this is about the size of a task. */
export const pageSize = 64;

export class TaskPage {
  readonly firstId: number;
  readonly #heads: (TaskHead | undefined)[] = new Array(pageSize).fill(undefined);
  /** Made when the first of its tasks makes progress. */
  #progress: (TaskProgress | undefined)[] | undefined;
  #count = 0;
  /** No task here was submitted outside of these. They only widen, so they may say too much, never too little. */
  submittedFrom = Number.POSITIVE_INFINITY;
  submittedTo = Number.NEGATIVE_INFINITY;

  constructor(firstId: number) {
    this.firstId = firstId;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  head(id: number): TaskHead | undefined {
    return this.#heads[id - this.firstId];
  }

  progress(id: number): TaskProgress | undefined {
    return this.#progress?.[id - this.firstId];
  }

  putHead(head: TaskHead): void {
    const slot = head.id - this.firstId;
    if (this.#heads[slot] === undefined) this.#count++;
    this.#heads[slot] = head;
    this.submittedFrom = Math.min(this.submittedFrom, head.submittedAt);
    this.submittedTo = Math.max(this.submittedTo, head.submittedAt);
  }

  putProgress(progress: TaskProgress): void {
    this.#progress ??= new Array(pageSize).fill(undefined);
    this.#progress[progress.id - this.firstId] = progress;
  }

  delete(id: number): void {
    const slot = id - this.firstId;
    if (this.#heads[slot] === undefined) return;
    this.#heads[slot] = undefined;
    if (this.#progress) this.#progress[slot] = undefined;
    this.#count--;
  }
}

export class TaskPages {
  readonly #pages = new OrderedMap<TaskPage>();
  /** The page looked at last: changes come in runs of neighbours. */
  #recent: TaskPage | undefined;

  head(id: TaskId): TaskHead | undefined {
    return this.#page(id)?.head(id);
  }

  progress(id: TaskId): TaskProgress | undefined {
    return this.#page(id)?.progress(id);
  }

  putHead(head: TaskHead): void {
    const number = numberOf(head.id);
    let page = this.#pages.get(number);
    if (!page) {
      page = new TaskPage(number * pageSize);
      this.#pages.set(number, page);
    }
    page.putHead(head);
  }

  /** Only for a task whose head is here. */
  putProgress(progress: TaskProgress): void {
    this.#page(progress.id)?.putProgress(progress);
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
      if (page?.head(at)) return true;
    }
    return false;
  }

  /** Every task, by rising id. */
  forEach(visit: (head: TaskHead, progress: TaskProgress | undefined) => void): void {
    for (const [, page] of this.#pages.entries()) {
      for (let id = page.firstId; id < page.firstId + pageSize; id++) {
        const head = page.head(id);
        if (head) visit(head, page.progress(id));
      }
    }
  }
}

function numberOf(id: number): number {
  return Math.floor(id / pageSize);
}
