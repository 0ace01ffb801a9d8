// The tasks a worker holds and has not begun: the more urgent first (a lower number is more urgent), then in the order in which
// they came.

import type { Instant } from "@yardmaster/core";
import { ownBytes } from "../body.js";
import type { TaskMessage } from "./messages.js";
import { keyOf } from "./objects.js";
import { priorityOf } from "./structs.js";

export class HeldTask {
  readonly key: string;
  readonly message: TaskMessage;
  /** Lower is more urgent. */
  readonly priority: number;
  /** One that came earlier has a lower one. */
  readonly order: number;
  /** Its function and then its arguments, each from when it is there. */
  readonly objects: (Buffer | undefined)[];
  /** Of `objects`, those that are not there yet; undefined until they are looked for. */
  missing: number | undefined;
  /** 0 until it has begun. */
  run = 0;
  begunAt = 0 as Instant;
  /** It runs since before the connection there is now. */
  isOfBefore = false;
  /** [scaler 10.4] It was asked for and given back, and runs on in case it is given again. */
  isGivenBack = false;

  constructor(message: TaskMessage, order: number) {
    this.key = keyOf(message.task);
    this.message = ownTask(message);
    this.priority = priorityOf(message.metadata);
    this.order = order;
    this.objects = new Array(1 + message.arguments.length).fill(undefined);
  }

  /** The id of `objects[index]`. */
  objectId(index: number): Buffer {
    return (index === 0 ? this.message.function : this.message.arguments[index - 1]?.id) as Buffer;
  }
}

/** Free of the read buffer, which would otherwise live for as long as the task waits. */
function ownTask(message: TaskMessage): TaskMessage {
  const { task, source, metadata, function: called } = message;
  return {
    ...message,
    task: ownBytes(task),
    source: ownBytes(source),
    metadata: ownBytes(metadata),
    function: ownBytes(called),
    arguments: message.arguments.map(({ kind, id }) => ({ kind, id: ownBytes(id) })),
  };
}

export class WaitingTasks {
  readonly #levels = new Map<number, Set<HeldTask>>();
  /** The priorities there are, the most urgent first. */
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
    // A copy: whoever goes through them may take one out.
    for (const priority of [...this.#priorities]) yield* this.#levels.get(priority) ?? [];
  }

  /** Those that would begin last, and the very last first. */
  last(count: number): HeldTask[] {
    return count === 0 ? [] : [...this].slice(-count).reverse();
  }

  clear(): void {
    this.#levels.clear();
    this.#priorities.length = 0;
    this.#size = 0;
  }
}
