// A queue: the tasks that are ready in it, the workers that could take them, and what was said of it. Tasks that some
// doors' workers cannot take are kept apart, by which doors those are, so that nobody has to step over them.

import type { Deadline } from "./deadlines.js";
import type { KeyEntry } from "./keys.js";
import type { QueueSettings } from "./limits.js";
import { type LoadEntry, LoadOrder } from "./load-order.js";
import { ReadyQueue } from "./ready-queue.js";
import type { TaskPolicy } from "./records.js";
import type { Place, Task } from "./task.js";
import type { Timed } from "./timed.js";
import { UrgencyOrder } from "./urgency-order.js";
import type { Offer, Worker } from "./worker.js";

/** One door's workers on one queue. */
export class DoorPool {
  readonly door: string;
  /** Workers that serve the queue, busy or not, and how many of them are draining. */
  serving = 0;
  draining = 0;
  /** Those that pull, hold nothing and are not being drained: while a task waits, they are not asking for it. */
  idle = 0;
  /** Those that would take a task now. */
  readonly offers = new LoadOrder<Offer>();
  /** Those that are full, and would take only something more urgent than what they hold. */
  readonly urgent = new UrgencyOrder<Offer>();

  constructor(door: string) {
    this.door = door;
  }
}

/** Ready tasks that the workers of some doors cannot take. */
interface ReadyApart {
  readonly unfit: readonly string[];
  readonly ready: ReadyQueue;
}

export class Queue {
  readonly name: string;
  readonly settings: QueueSettings;
  /** The policy of tasks that ask for nothing of their own. */
  readonly policy: TaskPolicy;
  readonly ready = new ReadyQueue();
  readonly #apart = new Map<string, ReadyApart>();
  readonly pools = new Map<string, DoorPool>();
  readonly keys = new Map<string, KeyEntry>();
  /** Workers that hold tasks they have not begun, by how much they hold. */
  readonly givers = new LoadOrder<Worker>();
  balance: Deadline<Timed> | undefined = undefined;
  /** Armed while it is kept although it may be empty, because a worker of it ended in order just now. */
  linger: Deadline<Timed> | undefined = undefined;
  isPaused = false;
  isDraining = false;
  waiting = 0;
  waitingBytes = 0;
  running = 0;
  delayed = 0;
  backoff = 0;
  recovering = 0;
  telling = 0;

  constructor(name: string, settings: QueueSettings) {
    this.name = name;
    this.settings = settings;
    const { attempts, failures, attemptTimeoutMs } = settings;
    this.policy = { attempts, failures, attemptTimeoutMs, waitingMsMax: 0 };
  }

  /** Nothing would be forgotten if it were dropped. */
  get isEmpty(): boolean {
    return (
      this.waiting === 0 &&
      this.running === 0 &&
      this.telling === 0 &&
      this.pools.size === 0 &&
      this.keys.size === 0 &&
      this.linger?.isArmed !== true &&
      !this.isPaused &&
      !this.isDraining
    );
  }

  pool(door: string): DoorPool {
    let pool = this.pools.get(door);
    if (pool === undefined) {
      pool = new DoorPool(door);
      this.pools.set(door, pool);
    }
    return pool;
  }

  /** Counts a task in or out of a place. */
  count(place: Place, by: 1 | -1): void {
    if (place === "delayed") this.delayed += by;
    else if (place === "backoff") this.backoff += by;
    else if (place === "recovering") this.recovering += by;
    else if (place === "telling") this.telling += by;
  }

  readyQueueFor(task: Task): ReadyQueue {
    const { unfit } = task;
    if (unfit === undefined) return this.ready;
    const name = unfit.join(" ");
    let apart = this.#apart.get(name);
    if (apart === undefined) {
      apart = { unfit, ready: new ReadyQueue() };
      this.#apart.set(name, apart);
    }
    return apart.ready;
  }

  /** The ready tasks by which doors cannot take them. */
  *readyGroups(): Generator<{ unfit: readonly string[] | undefined; size: number }> {
    yield { unfit: undefined, size: this.ready.size };
    for (const { unfit, ready } of this.#apart.values()) yield { unfit, size: ready.size };
  }

  /** The one that was handed in first of those that could start now. */
  oldestReady(): Task | undefined {
    let oldest = this.ready.oldest();
    for (const { ready } of this.#apart.values()) {
      const other = ready.oldest();
      if (other !== undefined && (oldest === undefined || other.head.id < oldest.head.id)) oldest = other;
    }
    return oldest;
  }

  /** The task that a worker of this door would get next. */
  firstFor(door: string): Task | undefined {
    let best = this.ready.first();
    if (this.#apart.size === 0) return best;
    for (const [name, { unfit, ready }] of this.#apart) {
      const first = ready.first();
      if (first === undefined) this.#apart.delete(name);
      else if (!unfit.includes(door) && (best === undefined || goesBefore(first, best))) best = first;
    }
    return best;
  }

  /**
   * The offer this task would go to: the least loaded, the least recently used of those, another worker than the one
   * that had the task last where there is one. Where all are full, to one that holds nothing as urgent and takes it.
   */
  offerFor(task: Task): Offer | undefined {
    const last = task.lease?.worker;
    const other = last === undefined ? undefined : this.#lowestOffer(task, last);
    return other ?? this.#lowestOffer(task, undefined) ?? this.#urgentOffer(task);
  }

  #urgentOffer(task: Task): Offer | undefined {
    for (const pool of this.pools.values()) {
      const offer = task.unfit?.includes(pool.door) ? undefined : pool.urgent.below(task.head.priority);
      if (offer !== undefined) return offer;
    }
    return undefined;
  }

  #lowestOffer(task: Task, besides: Worker | undefined): Offer | undefined {
    let best: LoadEntry<Offer> | undefined;
    for (const pool of this.pools.values()) {
      if (task.unfit?.includes(pool.door)) continue;
      let entry = pool.offers.lowest();
      // A worker has few offers on one queue: one, or one for each wish it has open.
      while (entry !== undefined && entry.subject.worker === besides) entry = pool.offers.after(entry);
      if (entry === undefined) continue;
      if (
        best === undefined ||
        entry.load < best.load ||
        (entry.load === best.load && entry.stamp < best.stamp)
      ) {
        best = entry;
      }
    }
    return best?.subject;
  }
}

export function goesBefore(one: Task, other: Task): boolean {
  if (one.head.priority !== other.head.priority) return one.head.priority > other.head.priority;
  return one.head.id < other.head.id;
}
