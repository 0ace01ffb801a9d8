// The attempts that the stream draws, in typed arrays: a ring of 60,000, oldest overwritten first.
// A row of the API that repeats an attempt replaces the one before, so a start and its end are one
// slot. Names are kept once, by number.

import type { AttemptFrame, AttemptOutcome } from "../live/api-shapes.js";

export const ringCapacity = 60_000;
/**
 * Names of workers and queues in use; beyond this the ring starts anew, since ports may come and go
 * for weeks.
 */
const namesMax = 20_000;

export const outcomes: readonly AttemptOutcome[] = [
  "running",
  "done",
  "failed",
  "lost",
  "cancelled",
  "returned",
];

/** Numbers for names, and back. */
export class Names {
  readonly #numbers = new Map<string, number>();
  readonly #names: string[] = [];

  get size(): number {
    return this.#names.length;
  }

  numberOf(name: string): number {
    let number = this.#numbers.get(name);
    if (number === undefined) {
      number = this.#names.length;
      this.#numbers.set(name, number);
      this.#names.push(name);
    }
    return number;
  }

  find(name: string): number | undefined {
    return this.#numbers.get(name);
  }

  name(number: number): string {
    return this.#names[number] ?? "";
  }

  clear(): void {
    this.#numbers.clear();
    this.#names.length = 0;
  }
}

export class AttemptRing {
  readonly capacity: number;
  readonly task: Float64Array;
  readonly attempt: Float64Array;
  readonly start: Float64Array;
  /** NaN while it runs. */
  readonly end: Float64Array;
  readonly worker: Uint32Array;
  readonly queue: Uint16Array;
  readonly outcome: Uint8Array;
  readonly reason: Uint16Array;
  readonly tryNumber: Uint16Array;
  /** Which of the lanes of its row it is drawn in. */
  readonly lane: Uint8Array;
  /** Where the task's attempt before was lost: that slot, or -1. */
  readonly movedFrom: Int32Array;
  readonly workers = new Names();
  readonly queues = new Names();
  readonly reasons = new Names();
  /** Slots that changed since the last `takeTouched`. */
  #touched: number[] = [];
  readonly #running = new Map<number, number>();
  readonly #lostOfTask = new Map<number, number>();
  /** Lanes taken by running attempts, a bit each, by worker. */
  readonly #lanes = new Map<number, number>();
  #next = 0;
  #count = 0;
  /** Raised when everything drawn so far is void. */
  generation = 0;

  constructor(capacity = ringCapacity) {
    this.capacity = capacity;
    this.task = new Float64Array(capacity);
    this.attempt = new Float64Array(capacity);
    this.start = new Float64Array(capacity);
    this.end = new Float64Array(capacity);
    this.worker = new Uint32Array(capacity);
    this.queue = new Uint16Array(capacity);
    this.outcome = new Uint8Array(capacity);
    this.reason = new Uint16Array(capacity);
    this.tryNumber = new Uint16Array(capacity);
    this.lane = new Uint8Array(capacity);
    this.movedFrom = new Int32Array(capacity).fill(-1);
    this.reasons.numberOf("");
  }

  get size(): number {
    return this.#count;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** The slots in use, newest first. */
  *newestFirst(): IterableIterator<number> {
    for (let back = 1; back <= this.#count; back += 1) {
      yield (this.#next - back + this.capacity) % this.capacity;
    }
  }

  add(frame: AttemptFrame): void {
    // Nothing is painted while another view is open.
    if (this.#touched.length > this.capacity) {
      this.#touched = [];
      this.generation += 1;
    }
    if (this.workers.size > namesMax || this.queues.size > namesMax) this.clear();
    const workers = frame.workers.map((name) => this.workers.numberOf(name));
    const queues = frame.queues.map((name) => this.queues.numberOf(name));
    for (const [task, attempt, worker, queue, start, end, outcome, reason, tryNumber] of frame.rows) {
      const known = this.#running.get(attempt);
      const slot = known ?? this.#claim();
      if (known === undefined) {
        this.task[slot] = task;
        this.attempt[slot] = attempt;
        this.worker[slot] = workers[worker] ?? 0;
        this.queue[slot] = queues[queue] ?? 0;
        this.start[slot] = frame.from + start;
        this.tryNumber[slot] = tryNumber;
        this.movedFrom[slot] = this.#movedFrom(task, tryNumber);
        this.#takeLane(slot);
        this.#running.set(attempt, slot);
      }
      this.outcome[slot] = Math.max(0, outcomes.indexOf(outcome));
      this.reason[slot] = this.reasons.size < 60_000 ? this.reasons.numberOf(reason ?? "") : 0;
      this.end[slot] = end === null ? Number.NaN : frame.from + end;
      if (end !== null) this.#ended(slot);
      this.#touched.push(slot);
    }
  }

  /** Ends what was still running, because its end will not be reported: the stream was cut. */
  forgetRunning(at: number): void {
    for (const slot of [...this.#running.values()]) {
      this.end[slot] = Math.max(at, this.start[slot] ?? at);
      this.outcome[slot] = outcomes.indexOf("returned");
      this.#ended(slot);
    }
  }

  takeTouched(): number[] {
    const touched = this.#touched;
    this.#touched = [];
    return touched;
  }

  running(): Iterable<number> {
    return this.#running.values();
  }

  clear(): void {
    this.#next = 0;
    this.#count = 0;
    this.#touched = [];
    this.#running.clear();
    this.#lostOfTask.clear();
    this.#lanes.clear();
    this.workers.clear();
    this.queues.clear();
    this.generation += 1;
  }

  /** The slot of a task's attempt that covers `at`, or its newest. */
  slotOfTask(task: number): number | undefined {
    for (const slot of this.newestFirst()) if (this.task[slot] === task) return slot;
    return undefined;
  }

  #claim(): number {
    const slot = this.#next;
    this.#next = (slot + 1) % this.capacity;
    if (this.#count < this.capacity) this.#count += 1;
    else this.#evict(slot);
    return slot;
  }

  #evict(slot: number): void {
    const attempt = this.attempt[slot] as number;
    if (this.#running.get(attempt) === slot) {
      this.#running.delete(attempt);
      this.#freeLane(slot);
    }
    const task = this.task[slot] as number;
    if (this.#lostOfTask.get(task) === slot) this.#lostOfTask.delete(task);
  }

  #movedFrom(task: number, tryNumber: number): number {
    if (tryNumber <= 1) return -1;
    const lost = this.#lostOfTask.get(task);
    this.#lostOfTask.delete(task);
    return lost ?? -1;
  }

  #ended(slot: number): void {
    this.#running.delete(this.attempt[slot] as number);
    this.#freeLane(slot);
    if (this.outcome[slot] === outcomes.indexOf("lost"))
      this.#lostOfTask.set(this.task[slot] as number, slot);
  }

  #takeLane(slot: number): void {
    const worker = this.worker[slot] as number;
    const taken = this.#lanes.get(worker) ?? 0;
    let lane = 0;
    while (lane < 31 && (taken & (1 << lane)) !== 0) lane += 1;
    this.lane[slot] = lane;
    if (lane < 31) this.#lanes.set(worker, taken | (1 << lane));
  }

  #freeLane(slot: number): void {
    const worker = this.worker[slot] as number;
    const taken = (this.#lanes.get(worker) ?? 0) & ~(1 << (this.lane[slot] as number));
    if (taken === 0) this.#lanes.delete(worker);
    else this.#lanes.set(worker, taken);
  }
}
