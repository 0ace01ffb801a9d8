// A queue: the tasks that are ready in it, the workers that could take them, and what was said of it. Tasks that some
// workers do not get are kept apart, by which workers those are, so that nobody has to step over them.

import type { Deadline } from "./deadlines.js";
import type { DoorState } from "./door-state.js";
import type { KeyEntry } from "./keys.js";
import type { QueueSettings } from "./limits.js";
import { type LoadEntry, LoadOrder } from "./load-order.js";
import type { QueueLabels } from "./queue-labels.js";
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

/** Ready tasks that some workers do not get. */
export interface ReadyGroup {
  /** Doors whose workers cannot take them. */
  readonly unfit: readonly string[] | undefined;
  /** Workers that failed them, which are passed over while another serves the queue. */
  readonly avoids: readonly Worker[] | undefined;
  readonly ready: ReadyQueue;
}

/** A freed worker looks at each group, so the number of groups that differ by the workers they avoid is bounded. */
const avoidingGroupsMax = 64;

export class Queue {
  readonly name: string;
  readonly settings: QueueSettings;
  /** The policy of tasks that ask for nothing of their own. */
  readonly policy: TaskPolicy;
  readonly ready = new ReadyQueue();
  /** The door whose peer named it first; undefined for one from the configuration, or from before a restart. */
  namedBy: DoorState | undefined = undefined;
  readonly #labels: QueueLabels;
  #label: string | undefined = undefined;
  readonly #apart = new Map<string, ReadyGroup>();
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

  constructor(name: string, settings: QueueSettings, labels: QueueLabels) {
    this.name = name;
    this.settings = settings;
    this.#labels = labels;
    const { attempts, failures, attemptTimeoutMs } = settings;
    this.policy = { attempts, failures, attemptTimeoutMs, waitingMsMax: 0 };
  }

  /** The name under which it is counted, taken when it is first counted or shown: a name in passing takes none. */
  get label(): string {
    this.#label ??= this.#labels.take(this.name);
    return this.#label;
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
    if (task.unfit === undefined && task.avoids === undefined) return this.ready;
    if (task.avoids !== undefined && !this.#hasRoomFor(task)) {
      task.avoids = undefined;
      return this.readyQueueFor(task);
    }
    const { unfit, avoids } = task;
    const name = groupName(task);
    let group = this.#apart.get(name);
    if (group === undefined) {
      group = { unfit, avoids, ready: new ReadyQueue() };
      this.#apart.set(name, group);
    }
    return group.ready;
  }

  #hasRoomFor(task: Task): boolean {
    if (this.#apart.size < avoidingGroupsMax || this.#apart.has(groupName(task))) return true;
    for (const [name, { ready }] of this.#apart) if (ready.size === 0) this.#apart.delete(name);
    return this.#apart.size < avoidingGroupsMax;
  }

  /** The ready tasks by which workers do not get them. */
  *readyGroups(): Generator<ReadyGroup> {
    yield { unfit: undefined, avoids: undefined, ready: this.ready };
    yield* this.#apart.values();
  }

  /** Whether a task waits for another worker than one that failed it; such a task may fit more when a worker goes. */
  get isAvoiding(): boolean {
    for (const { avoids, ready } of this.#apart.values())
      if (avoids !== undefined && ready.size > 0) return true;
    return false;
  }

  /** How many live workers could be given such tasks, those that failed them aside. */
  countOthers({ unfit, avoids }: Pick<ReadyGroup, "unfit" | "avoids">): number {
    let others = 0;
    for (const { door, serving, draining } of this.pools.values()) {
      if (unfit?.includes(door) !== true) others += serving - draining;
    }
    for (const worker of avoids ?? []) {
      const counts = !worker.isGone && !worker.isDraining && worker.queues.includes(this);
      if (counts && unfit?.includes(worker.door.name) !== true) others -= 1;
    }
    return others;
  }

  #mayTake(worker: Worker, group: ReadyGroup): boolean {
    if (group.unfit?.includes(worker.door.name)) return false;
    return group.avoids?.includes(worker) !== true || this.countOthers(group) === 0;
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

  /** The task that this worker would get next. */
  firstFor(worker: Worker): Task | undefined {
    let best = this.ready.first();
    if (this.#apart.size === 0) return best;
    for (const [name, group] of this.#apart) {
      const first = group.ready.first();
      if (first === undefined) this.#apart.delete(name);
      else if ((best === undefined || goesBefore(first, best)) && this.#mayTake(worker, group)) best = first;
    }
    return best;
  }

  /** The task that goes out next, of those that somebody is there for. */
  nextPlacement(): { readonly task: Task; readonly offer: Offer } | undefined {
    let best: { readonly task: Task; readonly offer: Offer } | undefined;
    for (const { ready } of this.readyGroups()) {
      const task = ready.first();
      if (task === undefined || (best !== undefined && !goesBefore(task, best.task))) continue;
      const offer = this.offerFor(task);
      if (offer !== undefined) best = { task, offer };
    }
    return best;
  }

  /**
   * The offer this task would go to: the least loaded, the least recently used of those, another worker than the one
   * that had the task last where there is one. Where all are full, to one that holds nothing as urgent and takes it.
   */
  offerFor(task: Task): Offer | undefined {
    const avoids = task.avoids === undefined || this.countOthers(task) === 0 ? undefined : task.avoids;
    const last = task.lease?.worker;
    const other = last === undefined ? undefined : this.#lowestOffer(task, avoids, last);
    return other ?? this.#lowestOffer(task, avoids, undefined) ?? this.#urgentOffer(task, avoids);
  }

  #urgentOffer(task: Task, avoids: readonly Worker[] | undefined): Offer | undefined {
    for (const pool of this.pools.values()) {
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
    for (const pool of this.pools.values()) {
      if (task.unfit?.includes(pool.door)) continue;
      let entry = pool.offers.lowest();
      // A worker has few offers on one queue: one, or one for each wish it has open. Few workers are passed over.
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

export function goesBefore(one: Task, other: Task): boolean {
  if (one.head.priority !== other.head.priority) return one.head.priority > other.head.priority;
  return one.head.id < other.head.id;
}

/** The same for tasks that the same workers do not get. */
function groupName({ unfit, avoids }: Task): string {
  const workers = avoids?.map(({ id }) => id).sort() ?? [];
  return [...(unfit ?? []), "", ...workers].join(" ");
}
