// What the core counts, for metrics: every outcome, loss, refusal and limit, by a bounded set of labels. No count falls
// while the process lives.

interface Cell {
  readonly first: string;
  readonly second: string;
  count: number;
}

/** Counts by one or two labels. */
export class Counter {
  readonly #cells = new Map<string, Map<string, Cell>>();
  /** The one counted last: what is counted comes in runs. */
  #recent: Cell | undefined;

  add(first: string, second = ""): void {
    const recent = this.#recent;
    const cell = recent?.first === first && recent.second === second ? recent : this.#cell(first, second);
    cell.count += 1;
  }

  #cell(first: string, second: string): Cell {
    let inner = this.#cells.get(first);
    if (inner === undefined) {
      inner = new Map<string, Cell>();
      this.#cells.set(first, inner);
    }
    let cell = inner.get(second);
    if (cell === undefined) {
      cell = { first, second, count: 0 };
      inner.set(second, cell);
    }
    this.#recent = cell;
    return cell;
  }

  of(first: string, second = ""): number {
    return this.#cells.get(first)?.get(second)?.count ?? 0;
  }

  *entries(): Generator<readonly [first: string, second: string, count: number]> {
    for (const inner of this.#cells.values()) {
      for (const { first, second, count } of inner.values()) yield [first, second, count];
    }
  }
}

export class Counters {
  /** By the label of the queue. */
  readonly submitted = new Counter();
  /** By the label of the queue, and state. */
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
