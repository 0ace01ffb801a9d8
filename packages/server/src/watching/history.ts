// Throughput of the busiest queues, and of all together, for plots: bounded, in memory, sampled
// once a second. It takes differences of counts that queues keep anyway, and never looks at tasks.

import type { GoneTally, Instant, Moment, QueueCounts, QueueTally, WallTime } from "@yardmaster/core";

/**
 * The columns of a step. The first three are values at its end, the others are counts within it.
 */
export const columns = ["waiting", "running", "oldestMs", "in", "done", "failed", "lost", "expired"] as const;
export type Column = (typeof columns)[number];
const gauges = 3;
const width = columns.length;

export type HistorySpan = "5m" | "1h" | "24h";

const spans: ReadonlyMap<HistorySpan, { readonly stepMs: number; readonly steps: number }> = new Map([
  ["5m", { stepMs: 1_000, steps: 300 }],
  ["1h", { stepMs: 10_000, steps: 360 }],
  ["24h", { stepMs: 120_000, steps: 720 }],
]);

/** Each queue takes 44 KB, so all together stay below 16 MB. */
const queuesMax = 200;
/** Minimum interval between two replacements of a quiet queue by a busier one. */
const replaceEveryMs = 10_000;
const unknown = -1;

/** One span of one queue. */
class Ring {
  readonly stepMs: number;
  readonly steps: number;
  readonly #points: Int32Array;
  /** The last step that was written, and the first ever written. */
  #last: number;
  readonly #first: number;

  constructor({ stepMs, steps }: { stepMs: number; steps: number }, now: Instant) {
    this.stepMs = stepMs;
    this.steps = steps;
    this.#points = new Int32Array(steps * width).fill(unknown);
    this.#last = Math.floor(now / stepMs) - 1;
    this.#first = this.#last + 1;
  }

  get bytes(): number {
    return this.#points.byteLength;
  }

  /** Adds current values, and counts since the last call. */
  add(now: Instant, values: readonly number[]): void {
    const step = Math.floor(now / this.stepMs);
    // A step without a sample repeats the one before.
    for (let next = Math.max(this.#last + 1, step - this.steps + 1); next <= step; next += 1)
      this.#open(next, values);
    this.#last = Math.max(this.#last, step);
    const at = (step % this.steps) * width;
    for (let column = 0; column < width; column += 1) {
      const value = values[column] as number;
      this.#points[at + column] = column < gauges ? value : (this.#points[at + column] as number) + value;
    }
  }

  #open(step: number, values: readonly number[]): void {
    const at = (step % this.steps) * width;
    for (let column = 0; column < width; column += 1) {
      this.#points[at + column] = column < gauges ? (values[column] as number) : 0;
    }
  }

  /** The values of one column for steps `from` to `to`, the last excluded. */
  read(column: number, from: number, to: number): (number | null)[] {
    const values: (number | null)[] = [];
    for (let step = from; step < to; step += 1) {
      const isKnown = step >= this.#first && step <= this.#last && step > this.#last - this.steps;
      const value = isKnown ? (this.#points[(step % this.steps) * width + column] as number) : unknown;
      values.push(value === unknown ? null : value);
    }
    return values;
  }
}

interface Totals {
  in: number;
  done: number;
  failed: number;
  lost: number;
  expired: number;
}

class Series {
  readonly rings: ReadonlyMap<HistorySpan, Ring>;
  tally: QueueTally | undefined;
  #before: Totals;
  /** Tasks per second, fading over minutes. The least busy series is replaced first. */
  busy = 0;

  /** `before`: totals from before the queue was followed. */
  constructor(now: Instant, before: Totals) {
    this.rings = new Map([...spans].map(([span, shape]) => [span, new Ring(shape, now)]));
    this.#before = before;
  }

  add(now: Instant, gauge: { waiting: number; running: number; oldestMs: number }, totals: Totals): void {
    const before = this.#before;
    this.#before = totals;
    const moved = totals.in - before.in + (totals.done - before.done);
    this.busy = this.busy * 0.99 + moved * 0.01;
    const values = [
      gauge.waiting,
      gauge.running,
      gauge.oldestMs,
      totals.in - before.in,
      totals.done - before.done,
      totals.failed - before.failed,
      totals.lost - before.lost,
      totals.expired - before.expired,
    ];
    for (const ring of this.rings.values()) ring.add(now, values);
  }

  get bytes(): number {
    return [...this.rings.values()].reduce((sum, ring) => sum + ring.bytes, 0);
  }

  restart(): void {
    this.#before = nothing();
  }
}

export interface SeriesView {
  /** null: all queues together. */
  readonly name: string | null;
  readonly points: Readonly<Record<Column, readonly (number | null)[]>>;
}

export interface HistoryView {
  readonly span: HistorySpan;
  readonly stepMs: number;
  readonly from: WallTime;
  readonly to: WallTime;
  readonly series: readonly SeriesView[];
  readonly untracked: readonly string[];
}

export class History {
  #all: Series | undefined;
  readonly #queues = new Map<string, Series>();
  readonly #gone = nothing();
  /** True if there were queues without a series. */
  #wasFull = false;
  #replacedAt = Number.NEGATIVE_INFINITY;

  get tracked(): number {
    return this.#queues.size;
  }

  /** Memory of the points of all series. */
  get bytes(): number {
    let bytes = this.#all?.bytes ?? 0;
    for (const series of this.#queues.values()) bytes += series.bytes;
    return bytes;
  }

  /**
   * Call about once a second. `gone`: tallies of queues that were forgotten since the last call.
   */
  sample({ instant, wall }: Moment, queues: Iterable<QueueCounts>, gone: readonly GoneTally[]): void {
    for (const { tally } of gone) addTo(this.#gone, tally);
    const sum = { waiting: 0, running: 0, oldestMs: 0 };
    const totals = { ...this.#gone };
    let busiest: { readonly counts: QueueCounts; readonly rate: number } | undefined;
    const seen = new Set<string>();
    for (const counts of queues) {
      const { name, waiting, running, oldestAt, tally } = counts;
      const oldestMs = oldestAt === undefined ? 0 : Math.max(0, wall - oldestAt);
      sum.waiting += waiting;
      sum.running += running;
      sum.oldestMs = Math.max(sum.oldestMs, oldestMs);
      addTo(totals, tally);
      const series = this.#queues.get(name) ?? this.#track(counts, instant);
      if (series === undefined) {
        const rate = rateOf(tally, instant);
        if (busiest === undefined || rate > busiest.rate) busiest = { counts, rate };
        continue;
      }
      seen.add(name);
      this.#addTo(series, tally, instant, { waiting, running, oldestMs });
    }
    this.#all ??= new Series(instant, nothing());
    this.#all.add(instant, sum, totals);
    this.#addAbsent(seen, instant);
    if (busiest !== undefined) this.#replace(busiest.counts, busiest.rate, instant);
  }

  /** `since`: only steps that end after it. Without names: all queues together. */
  view(span: HistorySpan, now: Moment, names?: readonly string[], since?: WallTime): HistoryView {
    const { stepMs, steps } = spans.get(span) as { stepMs: number; steps: number };
    const end = Math.floor(now.instant / stepMs);
    const wallOf = (step: number) => Math.round(now.wall - now.instant + step * stepMs) as WallTime;
    let first = end - steps + 1;
    if (since !== undefined) {
      const missing = Math.ceil((wallOf(end) - since) / stepMs);
      first = Math.max(first, Math.min(end, end - missing));
    }
    const series: SeriesView[] = [];
    const untracked: string[] = [];
    for (const name of names ?? [null]) {
      const found = name === null ? this.#all : this.#queues.get(name);
      if (found === undefined && name !== null) untracked.push(name);
      else series.push({ name, points: pointsOf(found?.rings.get(span), first, end) });
    }
    return { span, stepMs, from: wallOf(first), to: wallOf(end), series, untracked };
  }

  /** Sum over all queues, over whole past seconds. */
  sumOf(column: Column, now: Instant, overSeconds: number): number {
    const ring = this.#all?.rings.get("5m");
    const end = Math.floor(now / 1_000);
    const values = ring?.read(columns.indexOf(column), end - overSeconds, end) ?? [];
    return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
  }

  #track(counts: QueueCounts, now: Instant): Series | undefined {
    if (this.#queues.size >= queuesMax) return undefined;
    if (counts.waiting === 0 && counts.running === 0 && rateOf(counts.tally, now) === 0) return undefined;
    // A queue that is new here began since the last sample, unless there was no room for it before.
    const series = new Series(now, this.#wasFull ? totalsOf(counts.tally) : nothing());
    this.#queues.set(counts.name, series);
    if (this.#queues.size >= queuesMax) this.#wasFull = true;
    return series;
  }

  #addTo(series: Series, tally: QueueTally, now: Instant, gauge: Parameters<Series["add"]>[1]): void {
    // The queue was forgotten and exists again, with counts from zero.
    if (series.tally !== undefined && series.tally !== tally) series.restart();
    series.tally = tally;
    series.add(now, gauge, totalsOf(tally));
  }

  /** A queue that does not exist now holds nothing. */
  #addAbsent(seen: ReadonlySet<string>, now: Instant): void {
    for (const [name, series] of this.#queues) {
      if (seen.has(name) || series.tally === undefined) continue;
      series.add(now, { waiting: 0, running: 0, oldestMs: 0 }, totalsOf(series.tally));
    }
  }

  #replace(counts: QueueCounts, rate: number, now: Instant): void {
    if (now - this.#replacedAt < replaceEveryMs) return;
    this.#replacedAt = now;
    let quietest: { readonly name: string; readonly busy: number } | undefined;
    for (const [name, { busy }] of this.#queues) {
      if (quietest === undefined || busy < quietest.busy) quietest = { name, busy };
    }
    // Requires twice the rate, because two similar queues would otherwise replace each other in
    // turn.
    if (quietest === undefined || rate < quietest.busy * 2 || rate === 0) return;
    this.#queues.delete(quietest.name);
    const series = new Series(now, totalsOf(counts.tally));
    series.tally = counts.tally;
    this.#queues.set(counts.name, series);
  }
}

function nothing(): Totals {
  return { in: 0, done: 0, failed: 0, lost: 0, expired: 0 };
}

function totalsOf(tally: QueueTally): Totals {
  const totals = nothing();
  addTo(totals, tally);
  return totals;
}

function addTo(totals: Totals, { submitted, done, failed, lost, expired }: QueueTally): void {
  totals.in += submitted.total;
  totals.done += done.total;
  totals.failed += failed.total;
  totals.lost += lost;
  totals.expired += expired;
}

function rateOf({ submitted, done }: QueueTally, now: Instant): number {
  return submitted.perSecond(now)[1] + done.perSecond(now)[1];
}

function pointsOf(ring: Ring | undefined, from: number, to: number): SeriesView["points"] {
  const points: Partial<Record<Column, (number | null)[]>> = {};
  for (const [index, column] of columns.entries()) {
    points[column] = ring?.read(index, from, to) ?? new Array<null>(Math.max(0, to - from)).fill(null);
  }
  return points as SeriesView["points"];
}
