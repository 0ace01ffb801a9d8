// The last minute of every worker, a second a cell: what it worked on, how much, and what failed or
// was lost. Cells come from exact counts; marks come from rows, which may be sampled.

import type { AttemptFrame, AttemptRow } from "@yardmaster/sdk";

export const windowSeconds = 60;
/** A power of two above the window; the rest is room for frames that come late. */
const ringSeconds = 64;
/** A worker that did nothing for this long is forgotten. */
const forgetSeconds = 2 * ringSeconds;

export type Mark = "" | "failed" | "lost" | "gone";
const marks: readonly Mark[] = ["", "failed", "lost", "gone"];

export interface Cell {
  /** The queue it worked on most in this second; undefined when it was idle. */
  readonly queue: string | undefined;
  /** The mean number of attempts at once. */
  readonly mean: number;
  readonly mark: Mark;
}

class WorkerMinute {
  readonly seconds = new Float64Array(ringSeconds);
  readonly queues = new Uint32Array(ringSeconds);
  readonly most = new Float32Array(ringSeconds);
  readonly means = new Float32Array(ringSeconds);
  readonly marks = new Uint8Array(ringSeconds);
  latest = 0;

  /** The place of a second, emptied when it held an earlier one. */
  at(second: number): number {
    const place = second % ringSeconds;
    if (this.seconds[place] !== second) {
      this.seconds[place] = second;
      for (const field of [this.queues, this.most, this.means, this.marks]) field[place] = 0;
    }
    this.latest = Math.max(this.latest, second);
    return place;
  }
}

export class StreamMinute {
  readonly #workers = new Map<string, WorkerMinute>();
  readonly #queueNumbers = new Map<string, number>();
  readonly #queueNames: string[] = [""];
  #firstSecond = 0;
  #prunedAt = 0;

  add(frame: AttemptFrame): void {
    if (this.#firstSecond === 0) this.#firstSecond = Math.floor(frame.from / 1000);
    for (const row of frame.rows) this.#row(frame, row);
    if (frame.busy !== null) this.#busy(frame, frame.busy, frame.busyFrom ?? frame.from);
    const second = Math.floor(frame.to / 1000);
    if (second - this.#prunedAt > ringSeconds) this.#prune(second);
  }

  /** Whether anything is known of this second. */
  isKnown(second: number): boolean {
    return this.#firstSecond > 0 && second >= this.#firstSecond;
  }

  cell(worker: string, second: number): Cell | undefined {
    const minute = this.#workers.get(worker);
    const place = second % ringSeconds;
    if (!minute || minute.seconds[place] !== second) return undefined;
    const number = minute.queues[place] ?? 0;
    return {
      queue: number === 0 ? undefined : this.#queueNames[number],
      mean: minute.means[place] ?? 0,
      mark: marks[minute.marks[place] ?? 0] ?? "",
    };
  }

  #busy(frame: AttemptFrame, busy: NonNullable<AttemptFrame["busy"]>, from: number): void {
    const spanMs = Math.max(1, frame.to - from);
    for (let second = Math.floor(from / 1000); second * 1000 < frame.to; second += 1) {
      const overlapMs = Math.min(frame.to, (second + 1) * 1000) - Math.max(from, second * 1000);
      const share = overlapMs / spanMs / 1000;
      for (const [worker, queue, , slotMs] of busy) {
        const minute = this.#minute(frame.workers[worker] ?? "");
        const place = minute.at(second);
        minute.means[place] = (minute.means[place] ?? 0) + slotMs * share;
        this.#works(minute, place, frame.queues[queue] ?? "", slotMs * share);
      }
    }
  }

  #row(frame: AttemptFrame, [, , worker, queue, start, end, outcome]: AttemptRow): void {
    const minute = this.#minute(frame.workers[worker] ?? "");
    const last = Math.floor((frame.from + (end ?? frame.to - frame.from)) / 1000);
    const first = Math.max(Math.floor((frame.from + start) / 1000), last - windowSeconds);
    if (outcome === "failed") this.#mark(minute, last, "failed");
    if (outcome === "lost") {
      for (let second = first; second < last; second += 1) this.#mark(minute, second, "lost");
      this.#mark(minute, last, "gone");
    }
    // Attempts that ran before the first frame: nothing has counted their time.
    for (let second = first; second < this.#firstSecond && second <= last; second += 1) {
      const place = minute.at(second);
      minute.means[place] = (minute.means[place] ?? 0) + 1;
      this.#works(minute, place, frame.queues[queue] ?? "", 1);
    }
  }

  #works(minute: WorkerMinute, place: number, queue: string, weight: number): void {
    if (weight <= (minute.most[place] ?? 0)) return;
    minute.most[place] = weight;
    minute.queues[place] = this.#numberOf(queue);
  }

  #mark(minute: WorkerMinute, second: number, mark: Mark): void {
    const place = minute.at(second);
    minute.marks[place] = Math.max(minute.marks[place] ?? 0, marks.indexOf(mark));
  }

  #minute(worker: string): WorkerMinute {
    const known = this.#workers.get(worker);
    if (known) return known;
    const minute = new WorkerMinute();
    this.#workers.set(worker, minute);
    return minute;
  }

  #numberOf(queue: string): number {
    const known = this.#queueNumbers.get(queue);
    if (known !== undefined) return known;
    this.#queueNumbers.set(queue, this.#queueNames.length);
    return this.#queueNames.push(queue) - 1;
  }

  #prune(second: number): void {
    this.#prunedAt = second;
    for (const [worker, { latest }] of this.#workers) {
      if (second - latest > forgetSeconds) this.#workers.delete(worker);
    }
    // Queues come and go for days; numbers start anew when far more were seen than are drawn.
    if (this.#queueNames.length < 50_000) return;
    this.#workers.clear();
    this.#queueNumbers.clear();
    this.#queueNames.length = 1;
  }
}
