// A worker as the core knows it: what it can take, what it holds, and how it stands in the pools of its queues.

import type { Deadline } from "./deadlines.js";
import type { Claim, DoorState } from "./door-state.js";
import type { WorkerProfile } from "./events.js";
import type { Lease } from "./lease.js";
import { LoadEntry } from "./load-order.js";
import type { WorkerId } from "./names.js";
import type { DoorPool, Queue } from "./queue.js";
import type { WallTime } from "./time.js";
import type { Timed } from "./timed.js";
import type { UrgencyEntry } from "./urgency-order.js";

/** A worker's offer to take tasks of one queue: standing for a worker with slots, one wish for one that pulls. */
export class Offer {
  readonly worker: Worker;
  readonly queue: Queue;
  readonly pool: DoorPool;
  readonly claim: Claim | undefined;
  readonly entry: LoadEntry<Offer>;
  /** Its place among those that are full and take only what is more urgent; for a worker that ever does. */
  urgent: UrgencyEntry<Offer> | undefined = undefined;

  constructor(worker: Worker, queue: Queue, pool: DoorPool, claim: Claim | undefined) {
    this.worker = worker;
    this.queue = queue;
    this.pool = pool;
    this.claim = claim;
    this.entry = new LoadEntry<Offer>(this);
  }
}

export class Worker {
  readonly id: WorkerId;
  readonly door: DoorState;
  readonly joinedAt: WallTime;
  #profile: WorkerProfile;
  // Of the profile, what is asked for every task: a profile is one more place in memory to go to.
  pulls = false;
  runsAtOnce = 1;
  passesLimit = false;
  slots: number;
  /** Where it was when it joined: whose place it takes. */
  host = "";
  /** The queues it serves; for one that pulls, those it has asked for. */
  readonly queues: Queue[] = [];
  readonly offers: Offer[] = [];
  // What it holds, lifted leases included.
  held = 0;
  begun = 0;
  /** Those named for taking back that are not back, and have not begun. */
  recalled = 0;
  lifted = 0;
  oldest: Lease | undefined = undefined;
  newest: Lease | undefined = undefined;
  /** The oldest it has not begun. */
  nextToBegin: Lease | undefined = undefined;
  /** The highest priority it holds, and how many have it; only reckoned for one that takes more urgent ones when full. */
  urgency = Number.NEGATIVE_INFINITY;
  #atUrgency = 0;
  /** How many of those it holds it said it had not begun, at its last beat. */
  queued: number | undefined = undefined;
  isDraining = false;
  isGone = false;
  /** Armed while it is offered nothing because it said it was busy. */
  hold: Deadline<Timed> | undefined = undefined;
  lastSeenAt: WallTime;
  info: Readonly<Record<string, unknown>> | undefined = undefined;
  /** Its place among those that could give tasks back; only for one that ever said it would. */
  giver: LoadEntry<Worker> | undefined = undefined;

  constructor(id: WorkerId, door: DoorState, profile: WorkerProfile, slots: number, now: WallTime) {
    this.id = id;
    this.door = door;
    this.#profile = profile;
    this.profile = profile;
    this.slots = slots;
    this.joinedAt = now;
    this.lastSeenAt = now;
  }

  get profile(): WorkerProfile {
    return this.#profile;
  }

  set profile(profile: WorkerProfile) {
    this.#profile = profile;
    this.pulls = profile.pulls;
    this.runsAtOnce = profile.runsAtOnce;
    this.passesLimit = profile.passesLimit === true && !profile.pulls;
    if (this.passesLimit) this.#reckonUrgency();
    if (profile.givesBack) this.giver ??= new LoadEntry<Worker>(this);
  }

  get isOnHold(): boolean {
    return this.hold?.isArmed === true;
  }

  /** Whether it may be given anything at all now. */
  get takesWork(): boolean {
    return !this.isGone && !this.isDraining && !this.isOnHold;
  }

  /** Whether the pools of its queues count it as idle. */
  get isIdlePuller(): boolean {
    return this.pulls && this.held === 0 && !this.isDraining;
  }

  /** Counts it in or out of the idle of every queue it serves. */
  countIdle(by: 1 | -1): void {
    for (const queue of this.queues) queue.pool(this.door.name).idle += by;
  }

  get hasFreeSlot(): boolean {
    return this.pulls || this.held < this.slots;
  }

  addLease(lease: Lease): void {
    lease.older = this.newest;
    if (this.newest === undefined) this.oldest = lease;
    else this.newest.newer = lease;
    this.newest = lease;
    this.nextToBegin ??= lease;
    if (this.isIdlePuller) this.countIdle(-1);
    this.held += 1;
    if (this.passesLimit) this.#countUrgency(lease.task.head.priority);
  }

  removeLease(lease: Lease): void {
    if (this.nextToBegin === lease) this.nextToBegin = lease.newer;
    if (lease.older === undefined) this.oldest = lease.newer;
    else lease.older.newer = lease.newer;
    if (lease.newer === undefined) this.newest = lease.older;
    else lease.newer.older = lease.older;
    lease.older = undefined;
    lease.newer = undefined;
    this.held -= 1;
    if (this.isIdlePuller) this.countIdle(1);
    if (lease.hasBegun) this.begun -= 1;
    else if (lease.isRecalled) this.recalled -= 1;
    if (lease.isLifted) this.lifted -= 1;
    if (this.passesLimit && lease.task.head.priority === this.urgency) {
      this.#atUrgency -= 1;
      if (this.#atUrgency === 0) this.#reckonUrgency();
    }
  }

  #countUrgency(priority: number): void {
    if (priority > this.urgency) {
      this.urgency = priority;
      this.#atUrgency = 1;
    } else if (priority === this.urgency) this.#atUrgency += 1;
  }

  #reckonUrgency(): void {
    this.urgency = Number.NEGATIVE_INFINITY;
    this.#atUrgency = 0;
    for (let lease = this.oldest; lease !== undefined; lease = lease.newer)
      this.#countUrgency(lease.task.head.priority);
  }

  /** How many of the newest it holds are surely not begun, and not asked for yet. */
  get unbegun(): number {
    const reported = this.queued === undefined ? this.begun : this.held - this.queued;
    return Math.max(0, this.held - Math.max(this.begun, reported) - this.recalled);
  }
}
