// The state of a yard at a moment, and the rates since the previous one.

import type { HttpClient, Queue, WorkerView } from "@yardmaster/sdk";

export interface YardFigures {
  readonly at: string;
  readonly waiting: number;
  readonly running: number;
  /** Outcomes by state since the dispatcher started. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly lostAttempts: number;
  readonly staleResults: number;
  readonly queues: readonly Queue[];
  readonly workers: readonly WorkerView[];
}

export async function figuresOf(client: HttpClient): Promise<YardFigures> {
  const [queues, workers, metrics] = await Promise.all([client.queues(), client.workers(), client.metrics()]);
  const samples = samplesIn(metrics);
  const outcomes: Record<string, number> = Object.create(null);
  for (const { name, labels, value } of samples) {
    const state = labels.state ?? "";
    if (name === "yardmaster_outcomes_total") outcomes[state] = (outcomes[state] ?? 0) + value;
  }
  const sum = (wanted: string) =>
    samples.filter(({ name }) => name === wanted).reduce((total, { value }) => total + value, 0);
  return {
    at: new Date().toISOString(),
    waiting: queues.reduce((total, queue) => total + queue.waiting, 0),
    running: queues.reduce((total, queue) => total + queue.running, 0),
    outcomes,
    lostAttempts: sum("yardmaster_lost_attempts_total"),
    staleResults: sum("yardmaster_stale_results_total"),
    queues,
    workers,
  };
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Parses counters and gauges of the Prometheus text format. */
export function samplesIn(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    const [, name, labels = "", value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, its]) => [key, its]);
    samples.push({ name, labels: Object.fromEntries(pairs), value: Number(value) });
  }
  return samples;
}

/** Outcomes per second by state, between two moments. */
export function ratesOf(
  before: YardFigures | undefined,
  after: YardFigures,
): Readonly<Record<string, number>> {
  if (!before) return Object.create(null);
  const seconds = Math.max(0.001, (Date.parse(after.at) - Date.parse(before.at)) / 1000);
  return Object.fromEntries(
    Object.entries(after.outcomes).map(([state, number]) => {
      return [state, Math.max(0, number - (before.outcomes[state] ?? 0)) / seconds];
    }),
  );
}
