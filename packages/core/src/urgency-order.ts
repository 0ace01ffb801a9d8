// Workers that are full but would take something more urgent, by the most urgent task that each holds. There are few
// different priorities at a time, so their order is a sorted list, and the least is at hand.

export class UrgencyEntry<Subject> {
  readonly subject: Subject;
  order: UrgencyOrder<Subject> | undefined = undefined;
  priority = 0;

  constructor(subject: Subject) {
    this.subject = subject;
  }
}

export class UrgencyOrder<Subject> {
  readonly #byPriority = new Map<number, Set<UrgencyEntry<Subject>>>();
  /** Rising. */
  readonly #priorities: number[] = [];

  /** Adds the entry, or moves it. */
  put(entry: UrgencyEntry<Subject>, priority: number): void {
    if (entry.order === this && entry.priority === priority) return;
    entry.order?.remove(entry);
    entry.order = this;
    entry.priority = priority;
    const known = this.#byPriority.get(priority);
    if (known !== undefined) known.add(entry);
    else {
      this.#byPriority.set(priority, new Set([entry]));
      this.#priorities.splice(this.#placeOf(priority), 0, priority);
    }
  }

  remove(entry: UrgencyEntry<Subject>): void {
    const known = this.#byPriority.get(entry.priority);
    known?.delete(entry);
    entry.order = undefined;
    if (known?.size !== 0) return;
    this.#byPriority.delete(entry.priority);
    this.#priorities.splice(this.#placeOf(entry.priority), 1);
  }

  /** One that holds nothing as urgent as this; the one with the least urgent, that was put first. */
  below(priority: number): Subject | undefined {
    const [lowest] = this.#priorities;
    if (lowest === undefined || lowest >= priority) return undefined;
    const first = this.#byPriority.get(lowest)?.values().next();
    return first === undefined || first.done ? undefined : first.value.subject;
  }

  #placeOf(priority: number): number {
    let low = 0;
    let high = this.#priorities.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#priorities[middle] as number) < priority) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
