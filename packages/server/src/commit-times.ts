// Durations of commits, as a Prometheus histogram. One is recorded in every turn of the event loop
// in which something changed.

import { Buckets, histogramOf } from "./histogram.js";

/** Seconds, from the microseconds of the memory engine to a disk in trouble. */
const bounds = [0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5];
const name = "yardmaster_commit_seconds";

export class CommitTimes {
  readonly name = name;
  readonly type = "histogram";
  readonly #buckets = new Buckets(bounds);

  add(ms: number): void {
    this.#buckets.add(ms);
  }

  /** Called by the registry. */
  get() {
    const help = "Time from the end of a turn until its changes are durable.";
    return histogramOf(name, help, this.#buckets.samples(name));
  }
}
