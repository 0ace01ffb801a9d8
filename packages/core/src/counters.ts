// Counts for metrics: every outcome, loss, refusal and limit, by a bounded set of labels. No count
// falls during the life of the process.

interface Cell {
  readonly first: string;
  readonly second: string;
  count: number;
}

/** Counts by one or two labels. */
export class Counter {
  readonly #cells = new Map<string, Map<string, Cell>>();
  /** The cell counted last. Equal labels come in runs, so it saves most lookups. */
  #recent: Cell | undefined;

  add(first: string, second = "", by = 1): void {
    const recent = this.#recent;
    const cell = recent?.first === first && recent.second === second ? recent : this.#cell(first, second);
    cell.count += by;
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
  /** By queue label. */
  readonly submitted = new Counter();
  /** By queue label and state. */
  readonly outcomes = new Counter();
  /** By door and reason. */
  readonly lostAttempts = new Counter();
  /** By door and reason. Returns cost no attempt. */
  readonly returnedAttempts = new Counter();
  /** By door: results, failures and beats of attempts that no longer hold their task. */
  readonly staleResults = new Counter();
  /** By door and event: events that make no sense in the current state. */
  readonly senseless = new Counter();
  /** By limit. */
  readonly limitsReached = new Counter();
  /** By door: posts that were handled before. */
  readonly repeatedPosts = new Counter();
  /** By door: deliveries of outcomes, repeated ones included. */
  readonly tellings = new Counter();
  /** By result: submitted, skipped because the task before had not finished, or refused. */
  readonly scheduleRuns = new Counter();
  /** Tasks of bulk actions, by the action's kind and by result: done or refused. */
  readonly actionTasks = new Counter();
  /** By door: reports of progress. */
  readonly reports = new Counter();
}
