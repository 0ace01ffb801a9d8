// What operators collect: everything is read from the yard's own counts when somebody asks, so that a task costs no more
// for being counted. Labels are bounded: by the first queues (the core gives them out, the same for counters and gauges),
// by the doors, and by fixed sets of reasons. A counter never falls.

import type { QueueView, WorkerView, Counter as YardCounter } from "@yardmaster/core";
import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { CommitTimes } from "./commit-times.js";
import type { Faults } from "./door-kit/faults.js";
import type { Tap, Traffic } from "./door-kit/tap.js";
import type { Runtime } from "./runtime.js";

/** Workers that have gauges of their own; those beyond are summed up. No page may grow without bound. */
const namedWorkersMax = 1_000;
/** No worker is called this: an id begins with its door's name. */
const otherWorkers = "(other)";

type Labels = Record<string, string>;
type Set = (labels: Labels, value: number) => void;

export class Metrics {
  readonly #registry = new Registry();
  readonly #commitTimes = new CommitTimes();
  readonly #faults = new Map<string, Faults>();

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
    this.#registry.registerMetric(this.#commitTimes as never);
  }

  render(): Promise<string> {
    return this.#registry.metrics();
  }

  /** For the runtime: a batch was committed. */
  readonly committed = (ms: number): void => {
    this.#commitTimes.add(ms);
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
    this.#faultsTotal();
    this.#watchQueues(() => runtime.core.queues());
    this.#watchWorkers(() => runtime.core.workers());
  }

  /** Counts the messages on every door. */
  watchTap(tap: Tap): void {
    const sums = (name: string, help: string, of: (traffic: Readonly<Traffic>) => number) =>
      new Counter({
        name: `yardmaster_${name}`,
        help,
        labelNames: ["door", "direction", "type"],
        registers: [this.#registry],
        collect() {
          this.reset();
          for (const traffic of tap.traffic()) {
            const { door, direction, type } = traffic;
            this.inc({ door, direction, type }, of(traffic));
          }
        },
      });
    sums("messages_total", "Messages on a door, by the dialect's own word.", ({ messages }) => messages);
    sums("message_bytes_total", "Their bytes, as far as the door counts them.", ({ bytes }) => bytes);
  }

  #watchQueues(queues: () => readonly QueueView[]): void {
    const perQueue = (name: string, help: string, of: (queue: QueueView) => number) =>
      this.#gauge(name, help, ["queue"], (set) => {
        for (const queue of queues()) set({ queue: queue.label }, of(queue));
      });
    this.#gauge("waiting", "Waiting tasks.", ["queue", "reason"], (set) => {
      for (const { label, waitingBy } of queues()) {
        for (const [reason, count] of Object.entries(waitingBy)) set({ queue: label, reason }, count);
      }
    });
    perQueue("waiting_bytes", "Bytes of the payloads of waiting tasks.", ({ waitingBytes }) => waitingBytes);
    perQueue("running", "Running tasks.", ({ running }) => running);
    perQueue("queue_workers", "Workers that serve the queue.", ({ workers }) => workers);
    this.#gauge(
      "oldest_waiting_seconds",
      "Age of the oldest task that could start now.",
      ["queue"],
      (set) => {
        for (const [queue, oldestAt] of oldestByLabel(queues())) {
          set({ queue }, Math.max(0, Date.now() - oldestAt) / 1000);
        }
      },
    );
  }

  #watchWorkers(workers: () => readonly WorkerView[]): void {
    this.#gauge("workers", "Workers.", ["door", "state"], (set) => {
      for (const { door, state } of workers()) set({ door, state }, 1);
    });
    const perWorker = (name: string, help: string, of: (worker: WorkerView) => number) =>
      this.#gauge(name, help, ["door", "worker"], (set) => {
        const present = workers().filter(({ state }) => state !== "lost");
        for (const [index, worker] of present.entries()) {
          const name = index < namedWorkersMax ? worker.id : otherWorkers;
          set({ door: worker.door, worker: name }, of(worker));
        }
      });
    perWorker("worker_running", "Attempts that a worker holds.", ({ running }) => running);
    perWorker("worker_slots", "Attempts that a worker may hold.", ({ slots }) => slots);
  }

  #total(name: string, help: string, labelNames: readonly string[], count: () => YardCounter): void {
    new Counter({
      name: `yardmaster_${name}`,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [first, second, value] of count().entries()) {
          this.inc(labelsOf(labelNames, first, second), value);
        }
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

  #gauge(name: string, help: string, labelNames: readonly string[], collect: (add: Set) => void): void {
    new Gauge({
      name: `yardmaster_${name}`,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset();
        collect((labels, value) => this.inc(labels, value));
      },
    });
  }
}

function labelsOf(names: readonly string[], first: string, second: string): Record<string, string> {
  const [firstName = "", secondName] = names;
  return secondName === undefined ? { [firstName]: first } : { [firstName]: first, [secondName]: second };
}

/** The queues that share a label have the age of the oldest task among them: a sum of ages would mean nothing. */
function oldestByLabel(queues: readonly QueueView[]): Map<string, number> {
  const oldest = new Map<string, number>();
  for (const { label, oldestAt } of queues) {
    if (oldestAt !== undefined) oldest.set(label, Math.min(oldestAt, oldest.get(label) ?? oldestAt));
  }
  return oldest;
}
