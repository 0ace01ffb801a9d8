// Deadlines in a binary heap, the next one at the top. An armed deadline knows its index, so moving
// or disarming it takes logarithmic time.

import type { Instant } from "./time.js";

export class Deadline<Subject> {
  readonly subject: Subject;
  /** The instant at which it is due. Meaningless while it is not armed. */
  at = 0 as Instant;
  /** Index in the heap; -1 while it is not armed. Written only by `Deadlines`. */
  index = -1;

  constructor(subject: Subject) {
    this.subject = subject;
  }

  get isArmed(): boolean {
    return this.index >= 0;
  }
}

export class Deadlines<Subject> {
  readonly #heap: Deadline<Subject>[] = [];

  get size(): number {
    return this.#heap.length;
  }

  next(): Instant | undefined {
    return this.#heap[0]?.at;
  }

  /** Arms it, or moves it if it is armed. */
  arm(deadline: Deadline<Subject>, at: Instant): void {
    deadline.at = at;
    if (deadline.index < 0) {
      deadline.index = this.#heap.length;
      this.#heap.push(deadline);
      this.#rise(deadline);
    } else {
      this.#rise(deadline);
      this.#sink(deadline);
    }
  }

  disarm(deadline: Deadline<Subject>): void {
    const { index } = deadline;
    if (index < 0) return;
    const last = this.#heap.pop() as Deadline<Subject>;
    deadline.index = -1;
    if (last === deadline) return;
    this.#place(last, index);
    this.#rise(last);
    this.#sink(last);
  }

  /** Takes the earliest deadline that is due at `now`; undefined when none is. */
  takeDue(now: Instant): Deadline<Subject> | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.at > now) return undefined;
    this.disarm(first);
    return first;
  }

  #rise(deadline: Deadline<Subject>): void {
    let { index } = deadline;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#heap[parentIndex] as Deadline<Subject>;
      if (parent.at <= deadline.at) break;
      this.#place(parent, index);
      index = parentIndex;
    }
    this.#place(deadline, index);
  }

  #sink(deadline: Deadline<Subject>): void {
    let { index } = deadline;
    for (;;) {
      const left = this.#heap[2 * index + 1];
      const right = this.#heap[2 * index + 2];
      const child = right !== undefined && left !== undefined && right.at < left.at ? right : left;
      if (child === undefined || child.at >= deadline.at) break;
      const childIndex = child.index;
      this.#place(child, index);
      index = childIndex;
    }
    this.#place(deadline, index);
  }

  #place(deadline: Deadline<Subject>, index: number): void {
    this.#heap[index] = deadline;
    deadline.index = index;
  }
}
