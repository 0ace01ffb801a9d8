// Tasks that a worker may still hold although it has no attempt of them any more: its connection
// closed, it was silent for too long, or the dispatcher was restarted. A form-r worker that
// receives a task which is already in its queue stops for good. So such a task is sent only after
// the worker has answered a TC and thereby confirmed that it does not hold it [scaler 3.9].

import type { AttemptNumber, Instant, TaskId } from "@yardmaster/core";
import type { HeldAttempt } from "./held-tasks.js";
import { keyOf } from "./objects.js";
import { copyOfId, type IdBytes, type PackedTask } from "./packed-messages.js";

/** A TK that is sent once the worker has answered the TC before it. */
export interface WaitingTask {
  readonly held: HeldAttempt;
  readonly task: PackedTask;
}

export interface OwedTask {
  readonly id: Buffer;
  /** The core's number and the lost attempt. Undefined if the task was sent before the restart. */
  readonly task: TaskId | undefined;
  readonly attempt: AttemptNumber | undefined;
  /** When the TC was sent over this connection; undefined before that. */
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

  get(id: IdBytes): OwedTask | undefined {
    return this.#tasks.size === 0 ? undefined : this.#tasks.get(keyOf(copyOfId(id)));
  }

  /** Adds the task unless it is in the list already. */
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

/**
 * What is kept of a worker whose connection closed, until it comes back under the same identity.
 */
export interface LostWorker<Wire> {
  readonly wire: Wire;
  readonly owed: OwedTasks;
}

/** Maximum number of tasks of all lost workers together, at about 200 bytes each. */
const owedMax = 200_000;
/**
 * A worker counts one more than its tasks, because knowing that it is a worker is useful by itself.
 */
const costOf = (lost: LostWorker<unknown>) => 1 + lost.owed.size;

/** Lost workers by identity. The one that was lost first is forgotten first. */
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
