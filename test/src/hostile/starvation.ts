// How long the main threads of processes were ready to run but had no processor. Other work on the
// machine causes that, so it is subtracted from latencies. Waits of several processes are added
// even if they overlap, so on a very busy machine the corrected figures are too low. Reports
// therefore also show the measured ones.

import { readOrNothing } from "./process-watch.js";

/**
 * Samples are close together: an answer is corrected by the waits since the last sample before it.
 */
const lookEveryMs = 25;
/** Number of samples kept. An answer that takes longer is corrected from the oldest one. */
const looksMax = 4_000;

interface Look {
  readonly at: number;
  /** The sum over all processes, in milliseconds. */
  readonly waitedMs: number;
}

export class Starvation {
  readonly #pids: readonly number[];
  readonly #looks: Look[] = [];

  constructor(pids: readonly number[]) {
    this.#pids = pids;
    setInterval(() => this.#look(), lookEveryMs).unref();
  }

  /** Milliseconds since this time in which a main thread waited for a processor. */
  since(startedAt: number): number {
    const before = this.#looks.findLast(({ at }) => at <= startedAt) ?? this.#looks[0];
    return before === undefined ? 0 : this.#look().waitedMs - before.waitedMs;
  }

  #look(): Look {
    const waitedMs = this.#pids.reduce((sum, pid) => sum + waitedMsOf(pid), 0);
    const look = { at: performance.now(), waitedMs };
    this.#looks.push(look);
    if (this.#looks.length > looksMax) this.#looks.shift();
    return look;
  }
}

/** How long the main thread of a process was ready to run but had no processor, since its start. */
export function waitedMsOf(pid: number): number {
  const [, waitedNs] = readOrNothing(`/proc/${pid}/task/${pid}/schedstat`).split(" ");
  return Number(waitedNs ?? 0) / 1e6;
}
