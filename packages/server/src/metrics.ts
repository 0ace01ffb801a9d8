// What operators collect: everything is read from the yard's own counts when somebody asks, so that a task costs no more
// for being counted. Labels are bounded: by the queues and doors that exist, and by fixed sets of reasons.

import type { Counter as YardCounter } from "@yardmaster/core";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Faults } from "./door-kit/faults.js";
import type { Runtime } from "./runtime.js";

/** From a memory engine's microseconds to a disk that is in trouble. */
const commitBuckets = [0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5];

export class Metrics {
  readonly #registry = new Registry();
  readonly #commitSeconds: Histogram;
  readonly #faults = new Map<string, Faults>();

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
    this.#commitSeconds = new Histogram({
      name: "yardmaster_commit_seconds",
      help: "Time from the end of a turn until what it decided was safe.",
      buckets: commitBuckets,
      registers: [this.#registry],
    });
  }

  render(): Promise<string> {
    return this.#registry.metrics();
  }

  /** For the runtime: a batch was committed. */
  readonly committed = (ms: number): void => {
    this.#commitSeconds.observe(ms / 1000);
  };

  /** Counts what peers of this door do wrong. */
  watchFaults(door: string, faults: Faults): void {
    this.#faults.set(door, faults);
  }

  watchRuntime(runtime: Runtime): void {
    const counters = () => runtime.counters;
    this.#total("submitted_total", "Accepted tasks.", ["queue"], () => counters().submitted);
    this.#total("outcomes_total", "Finished tasks.", ["queue", "state"], () => counters().outcomes);
    this.#total(
      "lost_attempts_total",
      "Attempts lost with their worker.",
      ["door", "reason"],
      () => counters().lostAttempts,
    );
    this.#total(
      "returned_attempts_total",
      "Attempts that came back untried.",
      ["door", "reason"],
      () => counters().returnedAttempts,
    );
    this.#total(
      "stale_results_total",
      "Answers of attempts that no longer held their task.",
      ["door"],
      () => counters().staleResults,
    );
    this.#total(
      "senseless_events_total",
      "Events that made no sense.",
      ["door", "event"],
      () => counters().senseless,
    );
    this.#total(
      "limits_reached_total",
      "Refusals because of a limit.",
      ["limit"],
      () => counters().limitsReached,
    );
    this.#total("tellings_total", "Outcomes told, repeats included.", ["door"], () => counters().tellings);
    this.#gauge("stalled_seconds", "Time in which the process could not run.", [], (set) =>
      set({}, runtime.stalledMs / 1000),
    );
    this.#gauge("waiting", "Waiting tasks.", ["queue", "reason"], (set) => {
      for (const { name, waitingBy } of runtime.core.queues()) {
        for (const [reason, count] of Object.entries(waitingBy)) set({ queue: name, reason }, count);
      }
    });
    this.#gauge("running", "Running tasks.", ["queue"], (set) => {
      for (const { name, running } of runtime.core.queues()) set({ queue: name }, running);
    });
    this.#gauge("workers", "Workers.", ["door", "state"], (set) => {
      for (const [key, count] of countWorkers(runtime)) {
        const [door = "", state = ""] = key.split(" ");
        set({ door, state }, count);
      }
    });
    this.#faultsTotal();
  }

  #total(name: string, help: string, labelNames: readonly string[], count: () => YardCounter): void {
    new Counter({
      name: `yardmaster_${name}`,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [first, second, value] of count().entries())
          this.inc(labelsOf(labelNames, first, second), value);
      },
    });
  }

  #faultsTotal(): void {
    const all = this.#faults;
    new Counter({
      name: "yardmaster_faults_total",
      help: "What peers did wrong.",
      labelNames: ["door", "kind"],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [door, faults] of all)
          for (const [kind, count] of faults.entries()) this.inc({ door, kind }, count);
      },
    });
  }

  #gauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    collect: (set: (labels: Record<string, string>, value: number) => void) => void,
  ): void {
    new Gauge({
      name: `yardmaster_${name}`,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset();
        collect((labels, value) => this.set(labels, value));
      },
    });
  }
}

function labelsOf(names: readonly string[], first: string, second: string): Record<string, string> {
  const [firstName = "", secondName] = names;
  return secondName === undefined ? { [firstName]: first } : { [firstName]: first, [secondName]: second };
}

function countWorkers(runtime: Runtime): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { door, state } of runtime.core.workers()) {
    const key = `${door} ${state}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}
