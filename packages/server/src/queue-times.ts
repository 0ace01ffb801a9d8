// How long tasks of each queue wait and run, and how often they are tried again: what an observer
// of the core hears, counted for Prometheus.

import type { AttemptEnd, Moment, Observer, SeenAttempt, SeenOutcome, SeenTask } from "@yardmaster/core";
import { Buckets, histogramOf, type Sample } from "./histogram.js";

/** Seconds, from a task that a free worker takes at once to one that takes hours. */
const bounds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 7200];
/** Every queue has about forty lines on the page of metrics, which must stay bounded. */
const namedQueuesMax = 200;
const otherQueues = "(other)";

class TimesByQueue {
  readonly type = "histogram";
  readonly name: string;
  readonly #help: string;
  readonly #buckets = new Map<string, Buckets>();

  constructor(name: string, help: string) {
    this.name = `yardmaster_${name}`;
    this.#help = help;
  }

  add(queue: string, ms: number): void {
    let buckets = this.#buckets.get(queue);
    if (buckets === undefined) {
      const label = this.#buckets.size < namedQueuesMax ? queue : otherQueues;
      buckets = this.#buckets.get(label) ?? new Buckets(bounds);
      this.#buckets.set(label, buckets);
    }
    // A clock that was set back must not make a duration negative.
    buckets.add(Math.max(0, ms));
  }

  /** Called by the registry. */
  get() {
    const values: Sample[] = [];
    for (const [queue, buckets] of this.#buckets) values.push(...buckets.samples(this.name, { queue }));
    return histogramOf(this.name, this.#help, values);
  }
}

export class QueueTimes implements Observer {
  readonly waits = new TimesByQueue(
    "wait_seconds",
    "Time from submission, or from the end of its delay, until a task began for the first time.",
  );
  readonly runs = new TimesByQueue("run_seconds", "Time from the beginning to the end of an attempt.");
  /** By queue and by how the attempt ended. */
  readonly retries = new Map<string, Map<AttemptEnd, number>>();

  began({ task }: SeenAttempt, now: Moment): void {
    if (task.losses > 0 || task.failures > 0) return;
    const { queue, submittedAt, notBefore } = task.head;
    this.waits.add(queue, now.wall - Math.max(submittedAt, notBefore));
  }

  ended(attempt: SeenAttempt, how: AttemptEnd, _reason: string, now: Moment): void {
    const { queue } = attempt.task.head;
    this.runs.add(queue, now.wall - attempt.startedAt);
    const label = this.retries.has(queue) || this.retries.size < namedQueuesMax ? queue : otherQueues;
    const counts = this.retries.get(label) ?? new Map<AttemptEnd, number>();
    counts.set(how, (counts.get(how) ?? 0) + 1);
    this.retries.set(label, counts);
  }

  finished(task: SeenTask, _outcome: SeenOutcome, by: SeenAttempt | undefined, now: Moment): void {
    if (by !== undefined) this.runs.add(task.head.queue, now.wall - by.startedAt);
  }

  workerLost(): void {}

  undelivered(): void {}
}
