// What the core counts, for metrics: every outcome, loss, refusal and limit, by a bounded set of labels.

/** Counts by one or two labels. */
export class Counter {
  readonly #counts = new Map<string, Map<string, number>>();

  add(first: string, second = ""): void {
    let inner = this.#counts.get(first);
    if (inner === undefined) {
      inner = new Map<string, number>();
      this.#counts.set(first, inner);
    }
    inner.set(second, (inner.get(second) ?? 0) + 1);
  }

  of(first: string, second = ""): number {
    return this.#counts.get(first)?.get(second) ?? 0;
  }

  /** Labels are bounded by the queues that exist: one that is dropped takes its counts along. */
  drop(first: string): void {
    this.#counts.delete(first);
  }

  *entries(): Generator<readonly [first: string, second: string, count: number]> {
    for (const [first, inner] of this.#counts) {
      for (const [second, count] of inner) yield [first, second, count];
    }
  }
}

export class Counters {
  /** By queue. */
  readonly submitted = new Counter();
  /** By queue and state. */
  readonly outcomes = new Counter();
  /** By door and reason. */
  readonly lostAttempts = new Counter();
  /** By door and reason; these cost no try. */
  readonly returnedAttempts = new Counter();
  /** By door: results, failures and beats of attempts that no longer hold their task. */
  readonly staleResults = new Counter();
  /** By door and event: those that make no sense. */
  readonly senseless = new Counter();
  /** By limit. */
  readonly limitsReached = new Counter();
  /** By door: posts that had been taken in before. */
  readonly repeatedPosts = new Counter();
  /** By door: tellings. */
  readonly tellings = new Counter();
}
