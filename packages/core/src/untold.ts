// Finished tasks whose asker is not told yet, of all doors, oldest first. Linked through the tasks themselves and not in a
// `Set`: one that much goes through is made anew time and again, each time with a reference to its successor, so that
// the first that has grown old keeps all later ones, and whatever was in them, from being collected as young.

import type { Task } from "./task.js";

export class Untold {
  #first: Task | undefined = undefined;
  #last: Task | undefined = undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get oldest(): Task | undefined {
    return this.#first;
  }

  add(task: Task): void {
    task.previous = this.#last;
    if (this.#last === undefined) this.#first = task;
    else this.#last.next = task;
    this.#last = task;
    this.#size += 1;
  }

  /** Only of one that is here. */
  remove(task: Task): void {
    if (task.previous === undefined) this.#first = task.next;
    else task.previous.next = task.next;
    if (task.next === undefined) this.#last = task.previous;
    else task.next.previous = task.previous;
    task.previous = undefined;
    task.next = undefined;
    this.#size -= 1;
  }

  /** The one under way may be removed. */
  *[Symbol.iterator](): Generator<Task> {
    for (let task = this.#first; task !== undefined; ) {
      const { next } = task;
      yield task;
      task = next;
    }
  }
}
