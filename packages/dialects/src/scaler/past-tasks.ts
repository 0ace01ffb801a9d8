// Tasks from before the restart that a worker may still hold although no attempt of it is known
// [scaler 3.9]. Tasks that were sent again or ended unfinished since are noted at once. A task may
// also have ended without a word to this door: it ended in an earlier life of the dispatcher, or
// another door had accepted it. Such tasks are searched for in the store, once workers have had the
// time to come back and one still reports more tasks than are known.

import { after, type Effect, type Instant, type TaskHead, type TaskId } from "@yardmaster/core";
import { askedIn, foreignTaskId } from "./bodies.js";
import type { HeldAttempt } from "./held-tasks.js";
import { keyOf } from "./objects.js";

/** Maximum number of ids. Each takes about 100 bytes. */
const idsMax = 200_000;
/** Maximum number of tasks that one search reads. */
const searchedMax = 100_000;
/** Time from the first search to the second. It doubles with each search. */
const searchAgainMs = 60_000;

/**
 * Reads up to `max` ended tasks of the door's queue, accepted by any door, with numbers up to
 * `last`. `take` is called later, once for each page.
 */
export type SearchEnded = (last: TaskId, max: number, take: (heads: readonly TaskHead[]) => void) => void;

export class PastTasks {
  readonly #door: string;
  readonly #search: SearchEnded;
  /** Tasks up to this number were accepted before the restart. */
  #last = 0 as TaskId;
  readonly #known = new Set<string>();
  /** The ids of the tasks, in the order in which workers are asked about them. */
  readonly #ids: string[] = [];
  /** The earliest time of the next search; undefined if nothing was restored. */
  #searchAt: Instant | undefined;
  #intervalMs = searchAgainMs;

  constructor(door: string, search: SearchEnded) {
    this.#door = door;
    this.#search = search;
  }

  restored(last: TaskId, searchAt: Instant): void {
    this.#last = last;
    if (last > 0) this.#searchAt = searchAt;
  }

  /** Returns true if another worker may hold the task from before the restart. */
  goesOutAgain({ task, id }: HeldAttempt): boolean {
    if (task > this.#last) return false;
    this.#add(id);
    return true;
  }

  /** Its worker from before the restart may still hold a task that was cancelled. */
  ended({ task, outcome }: Extract<Effect, { type: "tell" }>): void {
    if (outcome.state !== "done" && task.id <= this.#last) this.#addTask(task);
  }

  /** Ids from position `from` on. If there are none, a search may bring more later. */
  since(from: number, max: number, now: Instant): Buffer[] {
    if (from >= this.#ids.length && this.#searchAt !== undefined && now >= this.#searchAt) {
      this.#searchAt = after(now, this.#intervalMs);
      this.#intervalMs *= 2;
      this.#search(this.#last, searchedMax, (heads) => {
        for (const head of heads) this.#addTask(head);
      });
    }
    return this.#ids.slice(from, from + max).map((key) => Buffer.from(key, "latin1"));
  }

  /** Workers know a task of another door under an id that this door made. */
  #addTask({ id, door, envelope }: TaskHead): void {
    if (door !== this.#door) return this.#add(foreignTaskId(id));
    const asked = askedIn(envelope);
    if (asked !== undefined) this.#add(asked.task);
  }

  #add(id: Buffer): void {
    const key = keyOf(id);
    if (this.#ids.length >= idsMax || this.#known.has(key)) return;
    this.#known.add(key);
    this.#ids.push(key);
  }
}
