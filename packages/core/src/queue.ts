// A queue: its ready tasks, the workers that could take them, its settings, and operators' orders.

import type { Deadline } from "./deadlines.js";
import type { DoorState } from "./door-state.js";
import { Groups } from "./group.js";
import type { KeyEntry } from "./keys.js";
import type { QueueSettings } from "./limits.js";
import { LoadOrder } from "./load-order.js";
import type { QueueLabels } from "./queue-labels.js";
import { QueueTally } from "./queue-tally.js";
import { RateBucket } from "./rate-bucket.js";
import { ReadyQueue } from "./ready-queue.js";
import type { TaskPolicy } from "./records.js";
import { type ReadyGroup, RestrictedTasks, type Restriction } from "./restricted-tasks.js";
import { goesBefore, type Task, type TaskPlace } from "./task.js";
import type { WallTime } from "./time.js";
import type { Timed } from "./timed.js";
import type { Offer, Worker } from "./worker.js";
import { WorkerPools } from "./worker-pools.js";

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
  readonly #restricted = new RestrictedTasks();
  readonly pools = new WorkerPools();
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
    const isRestricted = task.unfit !== undefined || task.avoids !== undefined;
    const ready = isRestricted ? (this.#restricted.queueFor(task) ?? this.ready) : this.ready;
    if (end === "first") ready.pushFirst(task, task.group);
    else ready.pushLast(task, task.group);
  }

  /** The ready tasks, grouped by the workers that must not get them. */
  *readyGroups(): Generator<ReadyGroup> {
    yield { unfit: undefined, avoids: undefined, ready: this.ready };
    yield* this.#restricted.values();
  }

  /**
   * True if a task waits for a worker other than those that failed it. Such a task may become
   * assignable when a worker leaves.
   */
  get isAvoiding(): boolean {
    return this.#restricted.isAvoiding;
  }

  /** Number of live workers that could take such tasks, without those that failed them. */
  countOthers({ unfit, avoids }: Restriction): number {
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
    const oldest = this.ready.oldest();
    const other = this.#restricted.oldest();
    if (oldest === undefined || other === undefined) return oldest ?? other;
    return other.head.id < oldest.head.id ? other : oldest;
  }

  /** The task that this worker would get next. */
  firstFor(worker: Worker): Task | undefined {
    const first = this.ready.first();
    if (this.#restricted.size === 0) return first;
    return this.#restricted.firstBefore(first, (group) => this.#mayTake(worker, group));
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

  /** The offer that this task would go to. */
  offerFor(task: Task): Offer | undefined {
    const avoids = task.avoids === undefined || this.countOthers(task) === 0 ? undefined : task.avoids;
    return this.pools.offerFor(task, avoids);
  }
}

function policyOf({ attempts, failures, attemptTimeoutMs }: QueueSettings): TaskPolicy {
  return { attempts, failures, attemptTimeoutMs, waitingMsMax: 0 };
}
