// Ready tasks of a queue that some workers must not get. They are kept in groups of their own, so
// that no search steps over them.

import { ReadyQueue } from "./ready-queue.js";
import { goesBefore, type Task } from "./task.js";
import type { Worker } from "./worker.js";

/** The workers that must not get a task. */
export interface Restriction {
  /** Doors whose workers cannot take it. */
  readonly unfit: readonly string[] | undefined;
  /** Workers that failed it. They are passed over while another one serves the queue. */
  readonly avoids: readonly Worker[] | undefined;
}

/** Ready tasks that the same workers must not get. */
export interface ReadyGroup extends Restriction {
  readonly ready: ReadyQueue;
}

/**
 * A freed worker looks at every group, so the number of groups that differ by avoided workers is
 * bounded.
 */
const groupsMax = 64;

export class RestrictedTasks {
  readonly #groups = new Map<string, ReadyGroup>();

  /** Number of groups. Empty ones are forgotten by the next search. */
  get size(): number {
    return this.#groups.size;
  }

  values(): IterableIterator<ReadyGroup> {
    return this.#groups.values();
  }

  /**
   * Where this task is kept. If there is no room for its group, the workers that failed it may get
   * it again. Undefined if nothing restricts it any more.
   */
  queueFor(task: Task): ReadyQueue | undefined {
    if (task.avoids !== undefined && !this.#hasRoomFor(task)) task.avoids = undefined;
    const { unfit, avoids } = task;
    if (unfit === undefined && avoids === undefined) return undefined;
    const name = nameOf(task);
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { unfit, avoids, ready: new ReadyQueue() };
      this.#groups.set(name, group);
    }
    return group.ready;
  }

  #hasRoomFor(task: Task): boolean {
    if (this.#groups.size < groupsMax || this.#groups.has(nameOf(task))) return true;
    for (const [name, { ready }] of this.#groups) if (ready.size === 0) this.#groups.delete(name);
    return this.#groups.size < groupsMax;
  }

  /** True if a task waits for a worker other than those that failed it. */
  get isAvoiding(): boolean {
    for (const { avoids, ready } of this.#groups.values())
      if (avoids !== undefined && ready.size > 0) return true;
    return false;
  }

  /** The task that was submitted first. */
  oldest(): Task | undefined {
    let oldest: Task | undefined;
    for (const { ready } of this.#groups.values()) {
      const other = ready.oldest();
      if (other !== undefined && (oldest === undefined || other.head.id < oldest.head.id)) oldest = other;
    }
    return oldest;
  }

  /** The first of these tasks that goes before `best` and may be taken, or else `best`. */
  firstBefore(best: Task | undefined, mayTake: (group: ReadyGroup) => boolean): Task | undefined {
    let found = best;
    for (const [name, group] of this.#groups) {
      const first = group.ready.first();
      // Tasks of full groups stay, although none of them is next.
      if (group.ready.size === 0) this.#groups.delete(name);
      else if (first !== undefined && (found === undefined || goesBefore(first, found)) && mayTake(group))
        found = first;
    }
    return found;
  }
}

/** Equal for tasks that the same workers must not get. */
function nameOf({ unfit, avoids }: Task): string {
  const workers = avoids?.map(({ id }) => id).sort() ?? [];
  return [...(unfit ?? []), "", ...workers].join(" ");
}
