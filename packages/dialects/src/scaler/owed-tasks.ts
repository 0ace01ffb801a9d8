// Tasks that a worker may still hold although no attempt of them is its own any more: its connection closed, it was silent for
// too long, or the dispatcher was started again. A worker of form r that is sent a task which it still has in its queue
// stops for good, so such a task is given to it only after it has said, in answer to TC, that it does not hold it [scaler 3.9].

import type { AttemptNumber, Instant, TaskId } from "@yardmaster/core";
import type { Held } from "./held-tasks.js";
import { keyOf } from "./objects.js";

/** A TK that leaves when the worker has answered the TC before it. */
export interface WaitingTask {
  readonly held: Held;
  readonly frames: readonly Buffer[];
}

export interface OwedTask {
  readonly id: Buffer;
  /** The core's number and the attempt that was lost, where this life of the dispatcher gave it out. */
  readonly task: TaskId | undefined;
  readonly attempt: AttemptNumber | undefined;
  /** When TC was sent over this connection; undefined before that. */
  askedAt: Instant | undefined;
  waiting: WaitingTask | undefined;
}

export class OwedTasks {
  readonly #tasks = new Map<string, OwedTask>();

  get size(): number {
    return this.#tasks.size;
  }

  values(): IterableIterator<OwedTask> {
    return this.#tasks.values();
  }

  get(id: Buffer): OwedTask | undefined {
    return this.#tasks.size === 0 ? undefined : this.#tasks.get(keyOf(id));
  }

  /** Whether the task whose id is bytes from..to is one of them. */
  has(bytes: Buffer, from: number, to: number): boolean {
    return this.#tasks.size > 0 && this.#tasks.has(bytes.toString("latin1", from, to));
  }

  /** Adds it unless it is there. */
  add(id: Buffer, task?: TaskId, attempt?: AttemptNumber): OwedTask {
    const key = keyOf(id);
    let owed = this.#tasks.get(key);
    if (owed === undefined) {
      owed = { id: Buffer.from(id), task, attempt, askedAt: undefined, waiting: undefined };
      this.#tasks.set(key, owed);
    }
    return owed;
  }

  delete(owed: OwedTask): void {
    this.#tasks.delete(keyOf(owed.id));
  }
}

/** What is kept of a worker whose connection closed, for when it comes back under its identity. */
export interface LostWorker<Wire> {
  readonly wire: Wire;
  readonly owed: OwedTasks;
}

/** Tasks of all lost workers together; about 200 bytes each. */
const owedMax = 200_000;
/** A worker counts for one more than it owes: that it is a worker is worth knowing, too. */
const costOf = (lost: LostWorker<unknown>) => 1 + lost.owed.size;

/** Lost workers by their identity; the one that was lost first is forgotten first. */
export class LostWorkers<Wire> {
  readonly #workers = new Map<string, LostWorker<Wire>>();
  #size = 0;

  put(identity: string, lost: LostWorker<Wire>): void {
    this.take(identity);
    this.#workers.set(identity, lost);
    this.#size += costOf(lost);
    for (const [oldest] of this.#workers) {
      if (this.#size <= owedMax) return;
      this.take(oldest);
    }
  }

  take(identity: string): LostWorker<Wire> | undefined {
    const lost = this.#workers.get(identity);
    if (lost === undefined) return undefined;
    this.#workers.delete(identity);
    this.#size -= costOf(lost);
    return lost;
  }
}
