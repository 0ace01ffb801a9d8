// Joins doors, core and engine: takes events in, has changes committed, hands effects out, and keeps the one timer. It
// decides nothing about tasks; what it guards is the order: durable first, visible second.

import {
  type Change,
  type CoreOptions,
  type Counters,
  Dispatcher,
  type Instant,
  type Moment,
  type StoredTask,
  type YardEvent,
} from "@yardmaster/core";
import type { Engine } from "@yardmaster/engines";
import type { Clock } from "./clock.js";
import { Commits } from "./commits.js";
import { type Attached, Deliveries } from "./deliveries.js";
import type { Door, DoorAddresses, Port, Reads } from "./door-kit/door.js";
import { DoorMemos } from "./door-memos.js";
import { type Loading, restoreAll } from "./restore.js";
import { YardClock } from "./yard-clock.js";

/** How often the core's sums are checked in production, and up to how many live tasks: the check walks over all. */
const checkEveryMs = 60_000;
const checkTasksMax = 10_000;

/** The door by which the runtime itself speaks to the core. */
const yardDoor = "yard";

export interface RuntimeOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly core: CoreOptions;
  /** Nothing may go on: a commit failed, or we found ourselves to be wrong. Called once. */
  readonly onFatal: (fault: Error) => void;
  readonly onCommitted?: (ms: number, changes: number) => void;
  /** The store is open and about to be loaded; how many tasks there are, if that is known. */
  readonly onOpened?: (tasks: number | undefined) => void;
  readonly onLoading?: (loading: Loading) => void;
  /** Checks the core's sums after every turn; for tests. */
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
  /** What each door posted last: one object a door, since the core keeps none of them. */
  readonly #posts = new Map<string, MutablePost>();
  readonly #memos = new DoorMemos();
  readonly #deliveries = new Deliveries(this.#doors, {
    core: () => this.core,
    read: (task, part) => this.#options.engine.body(task, part),
    post: (door, event) => this.#post(door, event),
    isOver: () => this.#state === "ended",
    // What doors posted has an end of turn coming; deadlines they set count from now.
    onDelivered: () => this.#clock.wakeAt(this.#nextDeadline()),
  });
  #core: Dispatcher | undefined;
  #commits: Commits | undefined;
  #epoch = 0;
  #isTurnEnding = false;
  #state: "new" | "running" | "stopping" | "ended" = "new";
  #nextCheckAt = 0 as Instant;
  #onTurn: (() => void) | undefined;
  readonly #followers = new Set<(changes: readonly Change[]) => void>();

  constructor(options: RuntimeOptions) {
    this.#options = options;
    this.#clock = new YardClock(options.clock, () => this.#tick());
  }

  /** The port of the door of this name. Posts count from when the runtime has started. */
  port(door: string): Port {
    let post: MutablePost | undefined;
    return {
      door,
      post: (event) => {
        post ??= this.#postOf(door);
        if (post !== undefined) this.#handle(post, event);
      },
      now: () => this.#now(),
      reads: this.#reads,
      untold: () => this.core.untoldOf(door),
      lastRestored: () => this.core.lastRestored,
      takeMemos: () => this.#memos.take(door),
    };
  }

  attach(door: Door): void {
    this.#doors.set(door.name, { door, effects: [] });
  }

  get isRunning(): boolean {
    return this.#state === "running";
  }

  /** Which of the store's owners this is. */
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

  /** Takes the engine over and brings back what was committed. */
  async start(): Promise<void> {
    const { engine, clock, core: coreOptions, onOpened, onLoading } = this.#options;
    const { epoch, tasks } = await engine.open();
    this.#epoch = epoch;
    const core = new Dispatcher(coreOptions, epoch, this.#clock.now());
    onOpened?.(tasks);
    const last = await restoreAll(engine, core, this.#memos, onLoading);
    this.#core = core;
    this.#commits = new Commits(
      {
        engine,
        epoch,
        clock,
        deliver: (effects) => this.#deliveries.deliver(effects),
        onApart: (task, part) => core.dropBytes(task, part),
        onFatal: (fault) => this.fail(fault),
        onCommitted: (ms, changes) => this.#committed(ms, changes),
      },
      last.lastTask,
    );
    this.#state = "running";
    this.#clock.endTurn();
    core.begin(last, this.#clock.now(), this.#commits.step);
    this.#endTurnSoon();
  }

  async openDoors(): Promise<Record<string, DoorAddresses>> {
    const addresses: Record<string, DoorAddresses> = {};
    for (const { door } of this.#doors.values()) {
      addresses[door.name] = await door.open();
      // One that has posted already has been announced.
      if (!this.#posts.has(door.name) && this.#core !== undefined && this.#commits !== undefined) {
        this.#announce(door.name, this.#core, this.#commits);
      }
    }
    return addresses;
  }

  /** Stops in order: nothing new, time for what is running, the rest given back, everything committed. Then it is safe to exit. */
  async stop(drainMs: number): Promise<void> {
    if (this.#state !== "running") return;
    this.#state = "stopping";
    for (const { door } of this.#doors.values()) door.stopAccepting();
    this.#post(yardDoor, { type: "yard-closing" });
    await this.#until(() => this.core.running === 0, drainMs);
    this.#post(yardDoor, { type: "yard-closed" });
    await this.#until(() => this.#commits?.isIdle !== false, drainMs);
    await this.closeDoors();
    // What was taken in while they closed is committed, too.
    await this.#until(() => this.#commits?.isIdle !== false, drainMs);
    this.#end();
    await this.#options.engine.close();
  }

  /** While memory is short, new tasks are refused. */
  noteMemory(isShort: boolean): void {
    this.#post(yardDoor, { type: "memory-noted", isShort });
  }

  /** Ends every connection of every door. */
  async closeDoors(): Promise<void> {
    for (const { door } of this.#doors.values()) door.stopAccepting();
    await Promise.all([...this.#doors.values()].map(({ door }) => door.close()));
  }

  /** Ends at once, as a crash does: nothing more is committed or delivered. */
  kill(): void {
    this.#end();
  }

  /** For doors, which may ask for the time without posting anything: a reading must not outlive its turn. */
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

  /** The first the core hears of a door is that it is open: then it numbers its posts from the start. */
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
    for (const { door } of this.#doors.values()) if (isDue(door.nextDeadline(), now)) door.handleTimeout(now);
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
    for (const { door } of this.#doors.values()) {
      const deadline = door.nextDeadline();
      if (deadline !== undefined && (next === undefined || deadline < next)) next = deadline;
    }
    return next;
  }

  readonly #reads: Reads = {
    // One that lives is in memory; of what was decided of it, nothing is shown before it is safe, but that it was given
    // out for the first time: should that be lost, it is given out again.
    task: (id) => {
      const live = this.core.liveTask(id);
      if (live === undefined) return this.#options.engine.task(id);
      const isKnown = isOrdinary(live) && this.#commits?.hasAccepted(id) === true;
      return isKnown ? Promise.resolve(live) : this.#whenSafe(live);
    },
    find: (query) => this.#options.engine.find(query),
    body: (id, part) => this.#options.engine.body(id, part),
    why: (id) => this.core.why(id, this.#now()),
    workers: () => this.#whenSafe(this.core.workers()),
    queues: () => this.#whenSafe(this.core.queues()),
    follow: (take) => {
      this.#followers.add(take);
      return () => this.#followers.delete(take);
    },
  };

  #committed(ms: number, changes: readonly Change[]): void {
    this.#options.onCommitted?.(ms, changes.length);
    for (const follow of this.#followers) follow(changes);
  }

  /** An answer that is given when all it speaks of is committed. */
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

  /** Ends at once and says so: what was committed is safe, and nothing more can be. */
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

/** It waits, or runs for the first time, and nothing has happened to it. */
function isOrdinary({ progress }: StoredTask): boolean {
  return progress === undefined || (progress.finishedAt === undefined && progress.story === undefined);
}

function isDue(deadline: Instant | undefined, now: Moment): boolean {
  return deadline !== undefined && deadline <= now.instant;
}
