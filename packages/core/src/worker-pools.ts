// The workers that serve one queue, in one pool for each door, and the offer that a task would go
// to.

import { type LoadEntry, LoadOrder } from "./load-order.js";
import type { Task } from "./task.js";
import { UrgencyOrder } from "./urgency-order.js";
import type { Offer, Worker } from "./worker.js";

/** The workers of one door that serve one queue. */
export class DoorPool {
  readonly door: string;
  /** Number of workers that serve the queue, busy or not, and how many of them are draining. */
  serving = 0;
  draining = 0;
  /**
   * Number of pulling workers that hold nothing and are not draining. While a task waits, they have
   * no open claim.
   */
  idle = 0;
  /**
   * Number of workers that said they take nothing (they offer no slot), hold nothing and are not
   * draining.
   */
  unavailable = 0;
  /** Offers of workers that would take a task now. */
  readonly offers = new LoadOrder<Offer>();
  /** Offers of full workers that would take only a task more urgent than what they hold. */
  readonly urgent = new UrgencyOrder<Offer>();

  constructor(door: string) {
    this.door = door;
  }
}

export class WorkerPools {
  readonly #byDoor = new Map<string, DoorPool>();

  /** Number of doors whose workers serve the queue. */
  get size(): number {
    return this.#byDoor.size;
  }

  values(): IterableIterator<DoorPool> {
    return this.#byDoor.values();
  }

  /** The pool of this door, created if necessary. */
  of(door: string): DoorPool {
    let pool = this.#byDoor.get(door);
    if (pool === undefined) {
      pool = new DoorPool(door);
      this.#byDoor.set(door, pool);
    }
    return pool;
  }

  delete({ door }: DoorPool): void {
    this.#byDoor.delete(door);
  }

  /**
   * The offer that this task would go to: the least loaded and, of those, the least recently used.
   * Another worker than the task's last one is preferred. If all are full, an offer of a worker
   * that accepts more urgent tasks. `avoids`: the workers that are passed over.
   */
  offerFor(task: Task, avoids: readonly Worker[] | undefined): Offer | undefined {
    const last = task.lease?.worker;
    const other = last === undefined ? undefined : this.#lowestOffer(task, avoids, last);
    return other ?? this.#lowestOffer(task, avoids, undefined) ?? this.#urgentOffer(task, avoids);
  }

  #urgentOffer(task: Task, avoids: readonly Worker[] | undefined): Offer | undefined {
    for (const pool of this.#byDoor.values()) {
      const offer = task.unfit?.includes(pool.door) ? undefined : pool.urgent.below(task.head.priority);
      if (offer !== undefined && avoids?.includes(offer.worker) !== true) return offer;
    }
    return undefined;
  }

  #lowestOffer(
    task: Task,
    avoids: readonly Worker[] | undefined,
    besides: Worker | undefined,
  ): Offer | undefined {
    let best: LoadEntry<Offer> | undefined;
    for (const pool of this.#byDoor.values()) {
      if (task.unfit?.includes(pool.door)) continue;
      let entry = pool.offers.lowest();
      // A worker has few offers on one queue (one, or one for each open claim), so this loop is
      // short.
      while (
        entry !== undefined &&
        (entry.subject.worker === besides || avoids?.includes(entry.subject.worker) === true)
      )
        entry = pool.offers.after(entry);
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
