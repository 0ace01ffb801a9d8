// How one door served its client: the latency of each answer, refusals and failures.

import type { Starvation } from "./starvation.js";

/** The pause between two requests of one client. */
const requestEveryMs = 20;
/** Faster answers are not corrected for the time in which processes waited for a processor. */
const slowMs = 50;

/**
 * Work that was refused in the dialect's own terms. The dispatcher may do that; it does not count
 * as a failure.
 */
export class Refused extends Error {}

export interface ServiceReport {
  readonly door: string;
  readonly answers: number;
  readonly p99Ms: number;
  /** The same without the correction for processes that waited for a processor. */
  readonly rawP99Ms: number;
  readonly longestMs: number;
  /** When the longest answer ended, in seconds since the figures were reset. */
  readonly longestAtSeconds: number;
  readonly refusals: number;
  readonly failures: number;
  readonly lastFailure: string;
}

export class Service {
  readonly door: string;
  /** Milliseconds of each answer, without the time in which a process waited for a processor. */
  #latencies: number[] = [];
  #rawLatencies: number[] = [];
  #longest = { ms: 0, at: 0 };
  #refusals = 0;
  #failures = 0;
  #lastFailure = "";
  #waitingSince: number | undefined;
  #starvation: Starvation | undefined;
  #since = performance.now();

  constructor(door: string) {
    this.door = door;
  }

  forget(): void {
    this.#latencies = [];
    this.#rawLatencies = [];
    this.#longest = { ms: 0, at: 0 };
    this.#refusals = 0;
    this.#failures = 0;
    this.#since = performance.now();
  }

  report(): ServiceReport {
    const waitingMs = this.#waitingSince === undefined ? 0 : this.#msSince(this.#waitingSince);
    const longest = waitingMs > this.#longest.ms ? { ms: waitingMs, at: performance.now() } : this.#longest;
    return {
      door: this.door,
      answers: this.#latencies.length,
      p99Ms: quantile(this.#latencies, 0.99),
      rawP99Ms: quantile(this.#rawLatencies, 0.99),
      longestMs: longest.ms,
      longestAtSeconds: Math.max(0, longest.at - this.#since) / 1000,
      refusals: this.#refusals,
      failures: this.#failures,
      lastFailure: this.#lastFailure,
    };
  }

  /**
   * Makes one request after another until told to stop. `starvation` covers the processes that take
   * part in an answer.
   */
  async run(starvation: Starvation, request: () => Promise<void>, isGoing: () => boolean): Promise<void> {
    this.#starvation = starvation;
    while (isGoing()) {
      const startedAt = performance.now();
      this.#waitingSince = startedAt;
      try {
        await request();
        this.#rawLatencies.push(performance.now() - startedAt);
        this.#took(this.#msSince(startedAt));
      } catch (error) {
        if (error instanceof Refused) this.#refusals += 1;
        else if (isGoing()) this.#failed(error);
      }
      this.#waitingSince = undefined;
      await pause(requestEveryMs);
    }
  }

  #msSince(startedAt: number): number {
    const ms = performance.now() - startedAt;
    return ms < slowMs ? ms : Math.max(slowMs, ms - (this.#starvation?.since(startedAt) ?? 0));
  }

  #took(ms: number): void {
    this.#latencies.push(ms);
    if (ms > this.#longest.ms) this.#longest = { ms, at: performance.now() };
  }

  #failed(error: unknown): void {
    this.#failures += 1;
    this.#lastFailure = String(error).slice(0, 120);
  }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
