// Idempotency keys. While a task lives its key points at it; once it is finished the key lives on for its time, in the
// order of finishing, so that the next to go is always the first.

import { Fifo } from "./fifo.js";
import type { TaskId } from "./names.js";
import type { Queue } from "./queue.js";
import type { Instant } from "./time.js";

export interface KeyEntry {
  readonly queue: Queue;
  readonly key: string;
  readonly task: TaskId;
  readonly fingerprint: string | undefined;
  /** When it is forgotten; undefined while its task lives. */
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

  /** Forgets the oldest. The queue keeps a younger entry of the same key, if there is one. */
  dropOldest(): KeyEntry | undefined {
    const entry = this.#byAge.shift();
    if (entry !== undefined && entry.queue.keys.get(entry.key) === entry) entry.queue.keys.delete(entry.key);
    return entry;
  }
}
