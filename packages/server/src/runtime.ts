// Joins doors, core and engine: takes in events, commits changes, delivers effects, and keeps the
// single timer. It decides nothing about tasks. It guarantees the order: durable first, visible
// second.

import {
  type Change,
  type CoreOptions,
  type Counters,
  Dispatcher,
  earlier,
  type Instant,
  type Moment,
  Observers,
  type YardEvent,
} from "@yardmaster/core";
import type { Engine } from "@yardmaster/engines";
import { ArrivingBodies } from "./arriving-bodies.js";
import type { Clock } from "./clock.js";
import { Commits, isOrdinary } from "./commits.js";
import { type Attached, Deliveries } from "./deliveries.js";
import type { Door, DoorAddresses, Port, Reads } from "./door-kit/door.js";
import { outcomesIn } from "./door-kit/past-outcomes.js";
import { type Tap, taskOf } from "./door-kit/tap.js";
import { DoorMemos } from "./door-memos.js";
import { type Loading, restoreAll } from "./restore.js";
import { CommitPace } from "./watching/commit-pace.js";
import { isDue, YardClock } from "./yard-clock.js";

/** Interval of the invariant check in production, and the maximum number of live tasks for it. */
const checkEveryMs = 60_000;
const checkTasksMax = 10_000;

/** The door under which the runtime itself posts to the core. */
const yardDoor = "yard";

export interface RuntimeOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly core: CoreOptions;
  /** The process must end: a commit failed, or an invariant is broken. Called once. */
  readonly onFatal: (fault: Error) => void;
  readonly onCommitted?: (ms: number, changes: number) => void;
  /** The store is open and is about to be loaded. Receives the number of tasks, if known. */
  readonly onOpened?: (tasks: number | undefined) => void;
  readonly onLoading?: (loading: Loading) => void;
  /** Bodies of this size and above are stored before their events reach the core. */
  readonly largeBodyBytes?: number;
  /** Told which tasks messages are about. */
  readonly tap?: Tap;
  /** For tests: checks the invariants after every turn. */
  readonly checksAlways?: boolean;
}

interface MutablePost {
  readonly door: string;
  number: number;
  event: YardEvent;
}

export class Runtime {
  readonly #options: RuntimeOptions;
  readonly #clock: YardClock;
  readonly #doors = new Map<string, Attached>();
  /** The last post of each door. One object per door is reused: the core keeps none. */
  readonly #posts = new Map<string, MutablePost>();
  readonly #memos = new DoorMemos();
  readonly #deliveries: Deliveries;
  readonly #arriving: ArrivingBodies;
  #core: Dispatcher | undefined;
  #commits: Commits | undefined;
  #epoch = 0;
  #isTurnEnding = false;
  #state: "new" | "running" | "stopping" | "ended" = "new";
  #nextCheckAt = 0 as Instant;
  #onTurn: (() => void) | undefined;
  readonly #followers = new Set<(changes: readonly Change[]) => void>();
  readonly #observers = new Observers();
  readonly #pace = new CommitPace();
  #startedAt = 0;

  constructor(options: RuntimeOptions) {
    this.#options = options;
    this.#clock = new YardClock(options.clock, () => this.#tick());
    this.#deliveries = new Deliveries(this.#doors, {
      core: () => this.core,
      read: (task, part) => options.engine.body(task, part),
      post: (door, event) => this.#post(door, event),
      isOver: () => this.#state === "ended",
      // The posts of doors end their own turn later; deadlines that doors set count from now.
      onDelivered: () => this.#clock.wakeAt(this.#nextDeadline()),
      tap: options.tap,
    });
    this.#arriving = new ArrivingBodies({
      ...options,
      parts: () => ({ core: this.core, commits: this.#commits as Commits }),
      pass: (door, event) => this.#post(door, event),
      onFault: (fault) => this.fail(fault),
    });
  }

  /** The port of the door with this name. Posts are accepted once the runtime has started. */
  port(door: string): Port {
    let post: MutablePost | undefined;
    return {
      door,
      post: (event) => {
        post ??= this.#postOf(door);
        if (post !== undefined && !this.#arriving.take(door, event)) this.#handleNow(post, event);
      },
      now: () => this.#now(),
      reads: { ...this.#reads, memo: (name) => this.#options.engine.memo(door, name) },
      openTasks: () => this.core.openTasksOf(door),
      announce: () => void this.#postOf(door),
      lastRestored: () => this.core.lastRestored,
      takeMemos: () => this.#memos.take(door),
      takeLargeMemos: () => this.#memos.takeLarge(door),
      isShortOfMemory: () => this.core.isShortOfMemory,
    };
  }

  attach(door: Door): void {
    this.#doors.set(door.name, { door, effects: [] });
  }

  get isRunning(): boolean {
    return this.#state === "running";
  }

  /** The number of this process among the owners of the store. */
  get epoch(): number {
    return this.#epoch;
  }

  get stalledMs(): number {
    return this.#clock.stalledMs;
  }

  get core(): Dispatcher {
    if (this.#core === undefined) throw new Error("the runtime has not started");
    return this.#core;
  }

  get counters(): Counters {
    return this.core.counters;
  }

  /** Takes over the engine and loads what was committed. */
  async start(): Promise<void> {
    const { engine, clock, core: coreOptions, onOpened, onLoading } = this.#options;
    const { epoch, tasks } = await engine.open();
    this.#epoch = epoch;
    const core = new Dispatcher(coreOptions, epoch, this.#clock.now());
    this.#clock.endTurn(); // So that loading does not count as a stall of this turn.
    onOpened?.(tasks);
    const last = await restoreAll(engine, core, this.#memos, onLoading);
    this.#core = core;
    this.#commits = new Commits(
      {
        engine,
        epoch,
        clock,
        deliver: (effects) => this.#deliveries.deliver(effects),
        onOutOfLine: (task, part) => core.dropBytes(task, part),
        onFatal: (fault) => this.fail(fault),
        onCommitted: (ms, changes) => this.#committed(ms, changes),
      },
      last.lastTask,
    );
    this.#state = "running";
    this.#clock.endTurn();
    const now = this.#clock.now();
    this.#startedAt = now.wall;
    if (!this.#observers.isEmpty) core.observe(this.#observers);
    core.begin(last, now, this.#commits.step);
    this.#endTurnSoon();
  }

  async openDoors(): Promise<Record<string, DoorAddresses>> {
    const addresses: Record<string, DoorAddresses> = {};
    for (const { door } of this.#doors.values()) {
      addresses[door.name] = await door.open();
      // A door that has posted or announced itself is already known to the core.
      if (!this.#posts.has(door.name) && this.#core !== undefined && this.#commits !== undefined) {
        this.#announce(door.name, this.#core, this.#commits);
      }
    }
    return addresses;
  }

  /** Stops in order: accepts nothing new, drains, returns the remaining attempts, commits all. */
  async stop(drainMs: number): Promise<void> {
    if (this.#state !== "running") return;
    this.#state = "stopping";
    for (const { door } of this.#doors.values()) door.stopAccepting?.();
    this.#post(yardDoor, { type: "yard-closing" });
    const isIdle = () => this.#arriving.isEmpty && this.#commits?.isIdle !== false;
    await this.#until(() => this.core.running === 0, drainMs);
    this.#post(yardDoor, { type: "yard-closed" });
    await this.#until(isIdle, drainMs);
    await this.closeDoors();
    // Events that arrived while the doors closed are committed too.
    await this.#until(isIdle, drainMs);
    this.#end();
    await this.#options.engine.close();
  }

  /** While memory is short, new tasks are refused. */
  noteMemory(isShort: boolean): void {
    this.#post(yardDoor, { type: "memory-noted", isShort });
  }

  /** Ends every connection of every door. */
  async closeDoors(): Promise<void> {
    for (const { door } of this.#doors.values()) door.stopAccepting?.();
    await Promise.all([...this.#doors.values()].map(({ door }) => door.close()));
  }

  /** Ends at once, like a crash: nothing more is committed or delivered. */
  kill(): void {
    this.#end();
  }

  /** For doors, which may read the time without posting. A reading must not outlive its turn. */
  #now(): Moment {
    this.#endTurnSoon();
    return this.#clock.now();
  }

  #post(door: string, event: YardEvent): void {
    const post = this.#postOf(door);
    if (post !== undefined) this.#handle(post, event);
  }

  #postOf(door: string): MutablePost | undefined {
    if (this.#core === undefined || this.#commits === undefined || this.#state === "ended") return undefined;
    return this.#posts.get(door) ?? this.#announce(door, this.#core, this.#commits);
  }

  #handle(post: MutablePost, event: YardEvent): void {
    if (this.#core === undefined || this.#commits === undefined || this.#state === "ended") return;
    post.number += 1;
    post.event = event;
    this.#core.handle(post, this.#clock.now(), this.#commits.step);
    this.#endTurnSoon();
  }

  /** Handles an event while its door handles the message that caused it. */
  #handleNow(post: MutablePost, event: YardEvent): void {
    const before = this.core.lastTask;
    this.#handle(post, event);
    const [{ tap }, { lastTask }] = [this.#options, this.core];
    if (tap?.isOpen === true) tap.about(post.door, taskOf(event, lastTask > before ? lastTask : undefined));
  }

  /** The core first hears that a door is open, and then numbers its posts from the start. */
  #announce(door: string, core: Dispatcher, commits: Commits): MutablePost {
    const { forgets = false, resumes = false } = this.#doors.get(door)?.door ?? {};
    const event: YardEvent = { type: "door-opened", incarnation: this.#epoch, forgets, resumes };
    const post = { door, number: 1, event };
    this.#posts.set(door, post);
    core.handle(post, this.#clock.now(), commits.step);
    this.#endTurnSoon();
    return post;
  }

  #tick(): void {
    if (this.#core === undefined || this.#commits === undefined || this.#state === "ended") return;
    const now = this.#clock.now();
    if (isDue(this.#core.nextDeadline(), now)) this.#core.handleTimeout(now, this.#commits.step);
    for (const { door } of this.#doors.values())
      if (isDue(door.nextDeadline?.(), now)) door.handleTimeout?.(now);
    if (now.instant >= this.#nextCheckAt && this.#core.liveTasks <= checkTasksMax) {
      this.#nextCheckAt = (now.instant + checkEveryMs) as Instant;
      this.#check();
    }
    this.#endTurnSoon();
  }

  #endTurnSoon(): void {
    if (this.#isTurnEnding) return;
    this.#isTurnEnding = true;
    this.#options.clock.defer(() => this.#endTurn());
  }

  #endTurn(): void {
    this.#isTurnEnding = false;
    if (this.#state === "ended") return;
    this.#commits?.endTurn();
    if (this.#options.checksAlways === true) this.#check();
    this.#clock.endTurn();
    this.#clock.wakeAt(this.#nextDeadline());
    this.#onTurn?.();
  }

  #nextDeadline(): Instant | undefined {
    let next = this.#core?.nextDeadline();
    for (const { door } of this.#doors.values()) next = earlier(next, door.nextDeadline?.());
    return next;
  }

  readonly #reads: Omit<Reads, "memo"> = {
    // Uncommitted decisions about a live task are not shown, except its first assignment: if that
    // is lost in a crash, the task is assigned again.
    task: (id) => {
      const live = this.core.view.liveTask(id);
      if (live === undefined) return this.#options.engine.task(id);
      const isKnown = isOrdinary(live) && this.#commits?.hasAccepted(id) === true;
      return isKnown ? Promise.resolve(live) : this.#whenSafe(live);
    },
    find: (query) => this.#options.engine.find(query),
    body: (id, part) => this.#options.engine.body(id, part),
    isLive: (id) => this.core.view.liveTask(id) !== undefined,
    // Waits for the commit, because a task leaves the core in the turn in which it ends.
    pastOutcomes: (ids) => this.#whenSafe(undefined).then(() => outcomesIn(this.#options.engine, ids)),
    dependents: (id, max) => this.core.view.dependents(id, max),
    policyOf: (id) => this.core.view.liveTask(id)?.head.policy,
    why: (id) => this.core.view.why(id, this.#now()),
    workers: () => this.#whenSafe(this.core.view.workers(this.#now())),
    queues: () => this.#whenSafe(this.core.view.queues(this.#now())),
    queue: (name) => this.#whenSafe(this.core.view.queue(name)),
    schedules: () => this.#whenSafe(this.core.view.schedules()),
    follow: (take) => {
      this.#followers.add(take);
      return () => this.#followers.delete(take);
    },
    whenSafe: () => this.#whenSafe(undefined),
    whenCaughtUp: async () => this.#options.engine.whenCaughtUp?.(),
    observe: (observer) => this.#observe(observer),
    attempts: () => this.core.view.attempts(),
    outlook: (id) => this.core.view.outlook(id, this.#now()),
    queueCounts: () => this.core.view.queueCounts(),
    takeGoneTallies: () => this.core.takeGoneTallies(),
    silenceOf: ({ door, id }) => this.#doors.get(door)?.door.silenceOf?.(id, this.#now()),
    health: () => ({
      slowDisk: this.#pace.slow(this.#now(), this.#commits?.underWayMs ?? 0),
      stalls: this.#clock.stalls,
      startedAt: this.#startedAt,
    }),
  };

  /** The core has one observer, and only while there are listeners. */
  #observe(observer: Parameters<Reads["observe"]>[0]): () => void {
    const remove = this.#observers.add(observer);
    this.#core?.observe(this.#observers);
    return () => {
      remove();
      if (this.#observers.isEmpty) this.#core?.observe(undefined);
    };
  }

  #committed(ms: number, changes: readonly Change[]): void {
    this.#options.onCommitted?.(ms, changes.length);
    this.#pace.add(ms, this.#clock.now());
    for (const follow of this.#followers) follow(changes);
  }

  /** Resolves with the value when everything so far is committed. */
  #whenSafe<Value>(value: Value): Promise<Value> {
    return new Promise((resolve) => this.#commits?.whenSafe(() => resolve(value)));
  }

  #until(isDone: () => boolean, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        this.#onTurn = undefined;
        resolve();
      };
      const cancel = this.#options.clock.setTimer(ms, end);
      this.#onTurn = () => {
        if (isDone()) end();
      };
      this.#endTurnSoon();
    });
  }

  #check(): void {
    try {
      this.#core?.checkInvariants();
    } catch (error) {
      this.fail(error as Error);
    }
  }

  /** Ends at once and reports it. What is committed is safe; nothing more can be committed. */
  fail(fault: Error): void {
    if (this.#state === "ended") return;
    this.#end();
    this.#options.onFatal(fault);
  }

  #end(): void {
    this.#state = "ended";
    this.#commits?.stop();
    this.#clock.stop();
  }
}
