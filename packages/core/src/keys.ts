// Idempotency keys. The key of a live task points at it. The key of a finished task stays valid for
// a fixed time, in order of finishing, so that the oldest always expires first.

import { Fifo } from "./fifo.js";
import type { TaskId } from "./names.js";
import type { Queue } from "./queue.js";
import type { Instant } from "./time.js";

export interface KeyEntry {
  readonly queue: Queue;
  readonly key: string;
  readonly task: TaskId;
  readonly fingerprint: string | undefined;
  /** When it is forgotten; undefined while its task is live. */
  expiresAt: Instant | undefined;
}

export class FinishedKeys {
  readonly #byAge = new Fifo<KeyEntry>();

  get size(): number {
    return this.#byAge.size;
  }

  oldest(): KeyEntry | undefined {
    return this.#byAge.first();
  }

  add(entry: KeyEntry): void {
    this.#byAge.push(entry);
  }

  /** Forgets the oldest key. A newer entry of the queue with the same key stays. */
  dropOldest(): KeyEntry | undefined {
    const entry = this.#byAge.shift();
    if (entry !== undefined && entry.queue.keys.get(entry.key) === entry) entry.queue.keys.delete(entry.key);
    return entry;
  }
}
