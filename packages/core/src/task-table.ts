// The live tasks by id. Ids are dense and rising, so tasks lie in pages of neighbours. Growing
// copies nothing, whereas a map with a million entries would stall the process while it grows.

import type { TaskId } from "./names.js";
import type { Task } from "./task.js";

const pageSize = 256;

class Page {
  readonly number: number;
  readonly tasks: (Task | undefined)[] = new Array(pageSize).fill(undefined);
  count = 0;

  constructor(number: number) {
    this.number = number;
  }
}

export class TaskTable {
  readonly #pages = new Map<number, Page>();
  #size = 0;
  /** The page used last. Events concern runs of neighbouring tasks. */
  #recent: Page | undefined;

  get size(): number {
    return this.#size;
  }

  get(id: TaskId): Task | undefined {
    const number = Math.floor(id / pageSize);
    return this.#page(number)?.tasks[id - number * pageSize];
  }

  #page(number: number): Page | undefined {
    if (this.#recent?.number === number) return this.#recent;
    const page = this.#pages.get(number);
    if (page !== undefined) this.#recent = page;
    return page;
  }

  add(task: Task): void {
    const { id } = task.head;
    const number = Math.floor(id / pageSize);
    let page = this.#page(number);
    if (page === undefined) {
      page = new Page(number);
      this.#pages.set(number, page);
    }
    page.tasks[id - number * pageSize] = task;
    page.count += 1;
    this.#size += 1;
  }

  delete(id: TaskId): void {
    const number = Math.floor(id / pageSize);
    const page = this.#page(number);
    if (page?.tasks[id - number * pageSize] === undefined) return;
    page.tasks[id - number * pageSize] = undefined;
    page.count -= 1;
    this.#size -= 1;
    if (page.count > 0) return;
    this.#pages.delete(number);
    this.#recent = undefined;
  }

  *[Symbol.iterator](): Generator<Task> {
    for (const page of this.#pages.values()) {
      for (const task of page.tasks) if (task !== undefined) yield task;
    }
  }
}
