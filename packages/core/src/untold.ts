// Finished tasks whose outcome is not delivered yet, by door, oldest first. Every outcome has the
// same time for delivery, so the first of a door to finish is also the first to run out of it.

import { Chain } from "./chain.js";
import type { Task } from "./task.js";

export class Untold {
  readonly #byDoor = new Map<string, Chain<Task>>();

  add(task: Task): void {
    this.of(task.head.door).add(task);
  }

  /** The task must have been added. */
  remove(task: Task): void {
    this.of(task.head.door).remove(task);
  }

  of(door: string): Chain<Task> {
    let chain = this.#byDoor.get(door);
    if (chain === undefined) {
      chain = new Chain();
      this.#byDoor.set(door, chain);
    }
    return chain;
  }

  doors(): IterableIterator<Chain<Task>> {
    return this.#byDoor.values();
  }

  /** The current task may be removed during the walk. */
  *[Symbol.iterator](): Generator<Task> {
    for (const chain of this.doors()) yield* chain;
  }
}
