// Full workers that would take a more urgent task, by the most urgent task that each holds. There
// are few different priorities at a time, so they form a sorted list with the lowest first. Workers
// of one priority are linked through themselves, because a worker enters and leaves with each task.

import { Chain } from "./chain.js";

export class UrgencyEntry<Subject> {
  readonly subject: Subject;
  order: UrgencyOrder<Subject> | undefined = undefined;
  list: UrgencyList<Subject> | undefined = undefined;
  previous: UrgencyEntry<Subject> | undefined = undefined;
  next: UrgencyEntry<Subject> | undefined = undefined;

  constructor(subject: Subject) {
    this.subject = subject;
  }
}

class UrgencyList<Subject> extends Chain<UrgencyEntry<Subject>> {
  readonly priority: number;

  constructor(priority: number) {
    super();
    this.priority = priority;
  }
}

export class UrgencyOrder<Subject> {
  /** By rising priority. An empty list is removed only when a search meets it. */
  #lists: UrgencyList<Subject>[] = [];

  /** Adds the entry, or moves it. */
  put(entry: UrgencyEntry<Subject>, priority: number): void {
    if (entry.order === this && entry.list?.priority === priority) return;
    entry.order?.remove(entry);
    const list = this.#listFor(priority);
    entry.order = this;
    entry.list = list;
    list.add(entry);
  }

  remove(entry: UrgencyEntry<Subject>): void {
    if (entry.list === undefined) return;
    entry.list.remove(entry);
    entry.order = undefined;
    entry.list = undefined;
  }

  /**
   * A worker whose most urgent task is below `priority`: the lowest first, then the one that was
   * added first.
   */
  below(priority: number): Subject | undefined {
    const lists = this.#lists;
    while (lists.length > 1 && lists[0]?.first === undefined) lists.shift();
    const lowest = lists[0];
    return lowest === undefined || lowest.priority >= priority ? undefined : lowest.first?.subject;
  }

  #listFor(priority: number): UrgencyList<Subject> {
    const known = this.#lists[this.#placeOf(priority)];
    if (known?.priority === priority) return known;
    this.#lists = this.#lists.filter(({ first }) => first !== undefined);
    const list = new UrgencyList<Subject>(priority);
    this.#lists.splice(this.#placeOf(priority), 0, list);
    return list;
  }

  #placeOf(priority: number): number {
    let low = 0;
    let high = this.#lists.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#lists[middle] as UrgencyList<Subject>).priority < priority) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
