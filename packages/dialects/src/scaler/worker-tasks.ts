// The tasks that a worker holds and has not begun, most urgent first (a lower number is more
// urgent), then in the order of arrival.

import type { Instant } from "@yardmaster/core";
import type { TaskMessage } from "./messages.js";
import { keyOf } from "./objects.js";
import { PackedTask } from "./packed-messages.js";
import { priorityOf } from "./structs.js";

export class HeldTask {
  readonly key: string;
  readonly message: TaskMessage;
  readonly #ids: readonly Buffer[];
  /** Lower is more urgent. */
  readonly priority: number;
  /** Increases with the order of arrival. */
  readonly order: number;
  /** The function, then the arguments; each is set when it arrives. */
  readonly objects: (Buffer | undefined)[];
  /** Number of missing entries in `objects`; undefined until they were requested. */
  missing: number | undefined;
  /** Number of its run; 0 until it has begun. */
  run = 0;
  begunAt = 0 as Instant;
  /** The run began before the current connection. */
  isOfBefore = false;
  /** [scaler 10.4] The task was returned on request, but keeps running in case it is sent again. */
  isGivenBack = false;

  constructor(message: TaskMessage, order: number) {
    this.key = keyOf(message.task);
    this.message = PackedTask.of(message);
    this.priority = priorityOf(message.metadata);
    this.order = order;
    const { function: called, arguments: given } = this.message;
    this.#ids = [called, ...given.map(({ id }) => id)];
    this.objects = new Array(this.#ids.length).fill(undefined);
  }

  /** The id of `objects[index]`. */
  objectId(index: number): Buffer {
    return this.#ids[index] as Buffer;
  }
}

export class WaitingTasks {
  readonly #levels = new Map<number, Set<HeldTask>>();
  /** All priorities in use, most urgent first. */
  readonly #priorities: number[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(task: HeldTask): void {
    let level = this.#levels.get(task.priority);
    if (level === undefined) {
      level = new Set();
      this.#levels.set(task.priority, level);
      this.#priorities.push(task.priority);
      this.#priorities.sort((one, other) => one - other);
    }
    level.add(task);
    this.#size += 1;
  }

  delete(task: HeldTask): boolean {
    const level = this.#levels.get(task.priority);
    if (level?.delete(task) !== true) return false;
    this.#size -= 1;
    if (level.size > 0) return true;
    this.#levels.delete(task.priority);
    this.#priorities.splice(this.#priorities.indexOf(task.priority), 1);
    return true;
  }

  *[Symbol.iterator](): IterableIterator<HeldTask> {
    // A copy, because the caller may remove a task while iterating.
    for (const priority of [...this.#priorities]) yield* this.#levels.get(priority) ?? [];
  }

  /** The tasks that would begin last, the very last one first. */
  last(count: number): HeldTask[] {
    return count === 0 ? [] : [...this].slice(-count).reverse();
  }

  clear(): void {
    this.#levels.clear();
    this.#priorities.length = 0;
    this.#size = 0;
  }
}
