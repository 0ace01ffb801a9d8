// Which workers had an attempt in a window of the stream, and how many of these failed.

import { type AttemptRing, outcomes } from "./attempt-ring.js";

const failed = outcomes.indexOf("failed");

export interface WindowCounts {
  /** Workers with an attempt in the window, by the ring's numbers. */
  readonly seen: ReadonlySet<number>;
  /** Failed attempts that ended in the window, by worker. */
  readonly failed: ReadonlyMap<number, number>;
}

export function countWindow(ring: AttemptRing, from: number, to: number): WindowCounts {
  const seen = new Set<number>();
  const failures = new Map<number, number>();
  for (const slot of ring.newestFirst()) {
    const end = ring.end[slot] as number;
    if ((ring.start[slot] as number) > to || end < from) continue;
    const worker = ring.worker[slot] as number;
    seen.add(worker);
    if (ring.outcome[slot] !== failed || end > to) continue;
    failures.set(worker, (failures.get(worker) ?? 0) + 1);
  }
  return { seen, failed: failures };
}

interface Member {
  readonly id: string;
  readonly state: string;
}

/**
 * The workers that have a row: those that are there, and lost ones whose work is still in the
 * window.
 */
export function workersInWindow<One extends Member>(
  workers: Iterable<One>,
  ring: AttemptRing,
  from: number,
  to: number,
): One[] {
  const all = [...workers];
  if (all.every(({ state }) => state !== "lost")) return all;
  const { seen } = countWindow(ring, from, to);
  return all.filter(({ id, state }) => state !== "lost" || seen.has(ring.workers.find(id) ?? -1));
}
