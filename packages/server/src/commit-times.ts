// How long commits take, as a Prometheus histogram that makes nothing new when it is told of one: it is told for every
// turn of the event loop in which anything happened.

import type { MetricObject } from "prom-client";

/** Seconds; from a memory engine's microseconds to a disk that is in trouble. */
const bounds = [0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5];
const name = "yardmaster_commit_seconds";

export class CommitTimes {
  readonly name = name;
  readonly type = "histogram";
  readonly #counts = new Float64Array(bounds.length + 1);
  #seconds = 0;

  add(ms: number): void {
    const seconds = ms / 1000;
    this.#seconds += seconds;
    let bucket = 0;
    while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket++;
    (this.#counts[bucket] as number) += 1;
  }

  /** For the registry. */
  get() {
    let sum = 0;
    const values: { metricName: string; labels: Record<string, string | number>; value: number }[] = [];
    for (const [index, count] of this.#counts.entries()) {
      sum += count;
      values.push({ metricName: `${name}_bucket`, labels: { le: bounds[index] ?? "+Inf" }, value: sum });
    }
    values.push({ metricName: `${name}_sum`, labels: {}, value: this.#seconds });
    values.push({ metricName: `${name}_count`, labels: {}, value: sum });
    const help = "Time from the end of a turn until what it decided was safe.";
    return Promise.resolve({
      name,
      help,
      type: this.type,
      aggregator: "sum",
      values,
    } as unknown as MetricObject);
  }
}
