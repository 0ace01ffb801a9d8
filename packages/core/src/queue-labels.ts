// Under which name a queue is counted. Metrics must not grow without bound, and a counter must never fall: so the first
// queues are counted under their own names for the life of the process, and all later ones under one name together.

/** No queue is called this: its name has characters that a queue's name must not have. */
export const otherQueues = "(other)";

/** Enough for people to look at, and few enough for a page of metrics. */
export const labelledQueuesMax = 1_000;

export class QueueLabels {
  readonly #names = new Set<string>();

  /** Queues of the configuration have their labels from the start: no peer can use them up. */
  constructor(configured: Iterable<string>) {
    for (const name of configured) this.take(name);
  }

  /** The same answer for a name each time, also after the queue was forgotten in between. */
  take(name: string): string {
    if (this.#names.has(name)) return name;
    if (this.#names.size >= labelledQueuesMax) return otherQueues;
    this.#names.add(name);
    return name;
  }
}
