// How much each worker worked, exactly, frame by frame: the source of bands and of "busy". The API
// counts slot time for every pair of worker and queue, so nothing here is sampled. Bounded by
// entries, oldest frames dropped first.

import type { AttemptFrame } from "../live/api-shapes.js";
import type { AttemptRing } from "./attempt-ring.js";

/** 1,000 workers on one queue each, once a second, for 15 min. */
const entriesMax = 900_000;
/** 15 min of counts at four a second. */
const countsMax = 4_000;

export interface BusyFrame {
  readonly from: number;
  readonly to: number;
  readonly workers: Uint32Array;
  readonly queues: Uint16Array;
  /** The mean number of attempts at once during the frame. */
  readonly means: Float32Array;
}

/** How many attempts there were, and how many rows of them came. */
interface FrameCounts {
  readonly to: number;
  readonly began: number;
  readonly ended: number;
  readonly shown: number;
}

export interface Stall {
  readonly start: number;
  readonly ms: number;
}

/** Time in which the page heard nothing. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

export class BusyHistory {
  readonly frames: BusyFrame[] = [];
  readonly stalls: Stall[] = [];
  readonly gaps: Gap[] = [];
  readonly #counts: FrameCounts[] = [];
  #entries = 0;
  /** What happened before is not known: the page was not there. */
  firstFrom: number | undefined;

  /** Up to when everything is known. */
  get lastTo(): number | undefined {
    return this.#counts.at(-1)?.to;
  }

  add(frame: AttemptFrame, ring: AttemptRing): void {
    const last = this.lastTo;
    this.firstFrom ??= frame.from;
    if (last !== undefined && frame.from > last + 1_500) this.gaps.push({ from: last, to: frame.from });
    if (this.gaps.length > 100) this.gaps.shift();
    const { to, began, ended, shown } = frame;
    this.#counts.push({ to, began, ended, shown });
    if (this.#counts.length > countsMax) this.#counts.splice(0, countsMax / 4);
    for (const [start, ms] of frame.stalls) this.#stall(frame.from + start, ms);
    if (frame.busy !== null) this.#addBusy(frame, frame.busy, frame.busyFrom ?? frame.from, ring);
  }

  #addBusy(
    frame: AttemptFrame,
    busy: NonNullable<AttemptFrame["busy"]>,
    from: number,
    ring: AttemptRing,
  ): void {
    const size = busy.length;
    const kept: BusyFrame = {
      from,
      to: frame.to,
      workers: new Uint32Array(size),
      queues: new Uint16Array(size),
      means: new Float32Array(size),
    };
    const spanMs = Math.max(1, frame.to - from);
    busy.forEach(([worker, queue, , slotMs], at) => {
      kept.workers[at] = ring.workers.numberOf(frame.workers[worker] ?? "");
      kept.queues[at] = ring.queues.numberOf(frame.queues[queue] ?? "");
      kept.means[at] = slotMs / spanMs;
    });
    this.frames.push(kept);
    this.#entries += size;
    this.#trim();
  }

  clear(): void {
    this.frames.length = 0;
    this.#entries = 0;
  }

  /** The first frame that ends after `at`. */
  indexAt(at: number): number {
    let [low, high] = [0, this.frames.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.frames[middle] as BusyFrame).to <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Slot time of each worker between two times, in milliseconds. */
  workedMs(from: number, to: number): Map<number, number> {
    const sums = new Map<number, number>();
    for (let at = this.indexAt(from); at < this.frames.length; at += 1) {
      const frame = this.frames[at] as BusyFrame;
      if (frame.from >= to) break;
      const overlap = Math.min(frame.to, to) - Math.max(frame.from, from);
      frame.workers.forEach((worker, index) => {
        sums.set(worker, (sums.get(worker) ?? 0) + (frame.means[index] as number) * overlap);
      });
    }
    return sums;
  }

  /** How many attempts ended, and how many of all were told to the page, between two times. */
  counts(from: number, to: number): { began: number; shown: number; ended: number } {
    const sum = { began: 0, shown: 0, ended: 0 };
    for (let at = this.#counts.length - 1; at >= 0; at -= 1) {
      const counts = this.#counts[at] as FrameCounts;
      if (counts.to <= from) break;
      if (counts.to > to) continue;
      sum.began += counts.began;
      sum.shown += counts.shown;
      sum.ended += counts.ended;
    }
    return sum;
  }

  #stall(start: number, ms: number): void {
    if (this.stalls.some((stall) => Math.abs(stall.start - start) < 100)) return;
    this.stalls.push({ start, ms });
    if (this.stalls.length > 100) this.stalls.shift();
  }

  /** A quarter at a time: to take the first off a long list moves all the others. */
  #trim(): void {
    if (this.#entries <= entriesMax && this.frames.length <= countsMax) return;
    for (const { workers } of this.frames.splice(0, Math.ceil(this.frames.length / 4))) {
      this.#entries -= workers.length;
    }
  }
}
