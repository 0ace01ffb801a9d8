// A queue: its ready tasks, the workers that could take them, and operators' orders. Tasks that
// some workers must not get are kept in groups of their own, so that no search steps over them.

import type { Deadline } from "./deadlines.js";
import type { DoorState } from "./door-state.js";
import { Groups } from "./group.js";
import type { KeyEntry } from "./keys.js";
import type { QueueSettings } from "./limits.js";
import { type LoadEntry, LoadOrder } from "./load-order.js";
import type { QueueLabels } from "./queue-labels.js";
import { QueueTally } from "./queue-tally.js";
import { RateBucket } from "./rate-bucket.js";
import { ReadyQueue } from "./ready-queue.js";
import type { TaskPolicy } from "./records.js";
import type { Task, TaskPlace } from "./task.js";
import type { WallTime } from "./time.js";
import type { Timed } from "./timed.js";
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

/** Ready tasks that the same workers must not get. */
export interface ReadyGroup {
  /** Doors whose workers cannot take them. */
  readonly unfit: readonly string[] | undefined;
  /** Workers that failed these tasks. They are passed over while another one serves the queue. */
  readonly avoids: readonly Worker[] | undefined;
  readonly ready: ReadyQueue;
}

/**
 * A freed worker looks at every group, so the number of groups that differ by avoided workers is
 * bounded.
 */
const avoidingGroupsMax = 64;

/** Settings given while the dispatcher runs. */
export type QueueOverrides = { readonly [Name in keyof QueueSettings]?: NonNullable<QueueSettings[Name]> };

export class Queue {
  readonly name: string;
  /** Its settings by configuration or default. */
  readonly #configured: QueueSettings;
  /**
   * Settings given at run time, which override the configuration. A queue with such settings is not
   * forgotten.
   */
  overrides: QueueOverrides | undefined = undefined;
  /** The settings in force. */
  settings: QueueSettings;
  /** The policy of tasks that set nothing themselves. */
  policy: TaskPolicy;
  // Copied from the settings, because every task needs them.
  #runningMax: number;
  /** True if a task that stops running may allow another one to start. */
  limitsRunning = false;
  /** True with any limit: an assignment is then committed before the worker has it. */
  isStrict = false;
  /** Undefined without a rate. */
  bucket: RateBucket | undefined = undefined;
  readonly ready = new ReadyQueue();
  readonly groups = new Groups(this.ready);
  /**
   * The door whose peer named it first; undefined for a configured queue or one from before a
   * restart.
   */
  namedBy: DoorState | undefined = undefined;
  /** The host of that peer, if it is known. */
  namedAt: string | undefined = undefined;
  readonly #labels: QueueLabels;
  #label: string | undefined = undefined;
  readonly #avoidingGroups = new Map<string, ReadyGroup>();
  readonly pools = new Map<string, DoorPool>();
  readonly keys = new Map<string, KeyEntry>();
  /** Workers that hold tasks they have not begun, by load. */
  readonly givers = new LoadOrder<Worker>();
  balance: Deadline<Timed> | undefined = undefined;
  /** Armed for a while after its last worker left in order, so that the queue stays listed. */
  linger: Deadline<Timed> | undefined = undefined;
  isPaused = false;
  isDraining = false;
  /** Who paused it and when; unknown for a pause from before a restart. */
  pausedAt: WallTime | undefined = undefined;
  pausedBy: string | undefined = undefined;
  /**
   * The last time it refused a task because it was full, and the first of that series of refusals.
   */
  refusedAt: WallTime | undefined = undefined;
  refusingSince: WallTime | undefined = undefined;
  readonly tally = new QueueTally();
  waiting = 0;
  waitingBytes = 0;
  running = 0;
  delayed = 0;
  backoff = 0;
  recovering = 0;
  blocked = 0;
  telling = 0;
  depended = 0;

  constructor(name: string, settings: QueueSettings, labels: QueueLabels) {
    this.name = name;
    this.#configured = settings;
    this.settings = settings;
    this.#labels = labels;
    this.policy = policyOf(settings);
    this.#runningMax = settings.maxRunning;
    this.#limit();
  }

  /** Puts these settings over the configured ones. Accepted tasks keep their policy. */
  override(overrides: QueueOverrides | undefined): void {
    this.overrides = overrides;
    this.settings = { ...this.#configured, ...overrides };
    this.policy = policyOf(this.settings);
    this.#limit();
  }

  #limit(): void {
    const { maxRunning, maxRunningPerGroup, rate } = this.settings;
    this.#runningMax = maxRunning;
    this.groups.limit(maxRunningPerGroup);
    this.limitsRunning =
      maxRunning !== Number.POSITIVE_INFINITY || maxRunningPerGroup !== Number.POSITIVE_INFINITY;
    if (rate === undefined) this.bucket = undefined;
    else if (this.bucket === undefined)
      this.bucket = new RateBucket(this.name, rate, { type: "rate", queue: this });
    else this.bucket.rate = rate;
    this.isStrict = this.limitsRunning || rate !== undefined;
  }

  /** True if it gives out nothing now: it is paused, or has reached a limit. */
  get isHeld(): boolean {
    return this.isPaused || (this.isStrict && (this.isFull || this.bucket?.isEmpty === true));
  }

  /** True if it runs as many tasks as it may. */
  get isFull(): boolean {
    return this.running + this.recovering >= this.#runningMax;
  }

  /**
   * The label under which it is counted. Taken on first use, so that a name mentioned once takes
   * none.
   */
  get label(): string {
    this.#label ??= this.#labels.take(this.name);
    return this.#label;
  }

  /** True if dropping the queue would lose nothing. */
  get isEmpty(): boolean {
    return (
      this.waiting === 0 &&
      this.running === 0 &&
      this.telling === 0 &&
      this.depended === 0 &&
      this.pools.size === 0 &&
      this.keys.size === 0 &&
      this.linger?.isArmed !== true &&
      this.overrides === undefined &&
      this.bucket === undefined &&
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

  /** Counts a task into or out of a place. */
  count(place: TaskPlace, by: 1 | -1): void {
    // Most calls are about these, which are not counted.
    if (place === "ready" || place === "leased" || place === "gone") return;
    if (place === "delayed") this.delayed += by;
    else if (place === "backoff") this.backoff += by;
    else if (place === "recovering") this.recovering += by;
    else if (place === "telling") this.telling += by;
    else if (place === "blocked") this.blocked += by;
    else if (place === "depended") this.depended += by;
  }

  /** Makes it wait for a worker, at the head of its group or at the end. */
  pushReady(task: Task, end: "first" | "last"): void {
    const ready = this.readyQueueFor(task);
    if (end === "first") ready.pushFirst(task, task.group);
    else ready.pushLast(task, task.group);
  }

  readyQueueFor(task: Task): ReadyQueue {
    if (task.unfit === undefined && task.avoids === undefined) return this.ready;
    if (task.avoids !== undefined && !this.#hasRoomFor(task)) {
      task.avoids = undefined;
      return this.readyQueueFor(task);
    }
    const { unfit, avoids } = task;
    const name = groupName(task);
    let group = this.#avoidingGroups.get(name);
    if (group === undefined) {
      group = { unfit, avoids, ready: new ReadyQueue() };
      this.#avoidingGroups.set(name, group);
    }
    return group.ready;
  }

  #hasRoomFor(task: Task): boolean {
    if (this.#avoidingGroups.size < avoidingGroupsMax || this.#avoidingGroups.has(groupName(task)))
      return true;
    for (const [name, { ready }] of this.#avoidingGroups)
      if (ready.size === 0) this.#avoidingGroups.delete(name);
    return this.#avoidingGroups.size < avoidingGroupsMax;
  }

  /** The ready tasks, grouped by the workers that must not get them. */
  *readyGroups(): Generator<ReadyGroup> {
    yield { unfit: undefined, avoids: undefined, ready: this.ready };
    yield* this.#avoidingGroups.values();
  }

  /**
   * True if a task waits for a worker other than those that failed it. Such a task may become
   * assignable when a worker leaves.
   */
  get isAvoiding(): boolean {
    for (const { avoids, ready } of this.#avoidingGroups.values())
      if (avoids !== undefined && ready.size > 0) return true;
    return false;
  }

  /** Number of live workers that could take such tasks, without those that failed them. */
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

  /** The ready task that was submitted first. */
  oldestReady(): Task | undefined {
    let oldest = this.ready.oldest();
    for (const { ready } of this.#avoidingGroups.values()) {
      const other = ready.oldest();
      if (other !== undefined && (oldest === undefined || other.head.id < oldest.head.id)) oldest = other;
    }
    return oldest;
  }

  /** The task that this worker would get next. */
  firstFor(worker: Worker): Task | undefined {
    let best = this.ready.first();
    if (this.#avoidingGroups.size === 0) return best;
    for (const [name, group] of this.#avoidingGroups) {
      const first = group.ready.first();
      // Tasks of full groups stay, although none of them is next.
      if (group.ready.size === 0) this.#avoidingGroups.delete(name);
      else if (
        first !== undefined &&
        (best === undefined || goesBefore(first, best)) &&
        this.#mayTake(worker, group)
      )
        best = first;
    }
    return best;
  }

  /** The next task for which a worker is available. */
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
   * The offer that this task would go to: the least loaded and, of those, the least recently used.
   * Another worker than the task's last one is preferred. If all are full, an offer of a worker
   * that accepts more urgent tasks.
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

function policyOf({ attempts, failures, attemptTimeoutMs }: QueueSettings): TaskPolicy {
  return { attempts, failures, attemptTimeoutMs, waitingMsMax: 0 };
}

export function goesBefore(one: Task, other: Task): boolean {
  if (one.head.priority !== other.head.priority) return one.head.priority > other.head.priority;
  return one.head.id < other.head.id;
}

/** Equal for tasks that the same workers must not get. */
function groupName({ unfit, avoids }: Task): string {
  const workers = avoids?.map(({ id }) => id).sort() ?? [];
  return [...(unfit ?? []), "", ...workers].join(" ");
}
