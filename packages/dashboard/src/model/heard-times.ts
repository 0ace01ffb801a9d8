// When each worker was heard, for the ticks below its row in the stream. The dispatcher says it in
// whole seconds, at most once a second. Bounded for each worker and in all.

/** A little more than a minute of beats a second; slower ones reach further back. */
const perWorkerMax = 90;
/** The stream has rows for fewer. */
const workersMax = 400;

export interface HeardWorker {
  readonly worker: string;
  readonly at: number;
}

export class HeardTimes {
  readonly #times = new Map<string, number[]>();
  #fresh: HeardWorker[] = [];

  add(worker: string, at: number): void {
    let times = this.#times.get(worker);
    if (times === undefined) {
      if (this.#times.size >= workersMax) return;
      times = [];
      this.#times.set(worker, times);
    }
    if (at <= (times.at(-1) ?? 0)) return;
    times.push(at);
    if (times.length > perWorkerMax) times.shift();
    // Nothing takes them while another view is open.
    if (this.#fresh.length < workersMax) this.#fresh.push({ worker, at });
  }

  forget(worker: string): void {
    this.#times.delete(worker);
  }

  /** Oldest first. */
  of(worker: string): readonly number[] {
    return this.#times.get(worker) ?? [];
  }

  /** What was added since the last call, up to this time. What is later stays. */
  takeFresh(until: number): readonly HeardWorker[] {
    const fresh = this.#fresh.filter(({ at }) => at <= until);
    if (fresh.length > 0) this.#fresh = this.#fresh.filter(({ at }) => at > until);
    return fresh;
  }
}
