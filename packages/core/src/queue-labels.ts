// The label under which a queue is counted. Metrics must stay bounded, and a counter must never
// fall. So the first queues keep their own label for the life of the process, and all later ones
// share one label.

/** Cannot be a queue's name, because it contains characters that names must not have. */
export const otherQueues = "(other)";

/** Enough for people to look at, and few enough for a page of metrics. */
export const labelledQueuesMax = 1_000;

export class QueueLabels {
  readonly #names = new Set<string>();

  /** Configured queues have labels from the start, so peers cannot use them up. */
  constructor(configured: Iterable<string>) {
    for (const name of configured) this.take(name);
  }

  /** Always returns the same label for a name, even if the queue was forgotten in between. */
  take(name: string): string {
    if (this.#names.has(name)) return name;
    if (this.#names.size >= labelledQueuesMax) return otherQueues;
    this.#names.add(name);
    return name;
  }
}
