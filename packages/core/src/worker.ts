// A worker in the core: what it can take, what it holds, and its offers in the pools of its queues.

import type { Deadline } from "./deadlines.js";
import type { Claim, DoorState } from "./door-state.js";
import type { Lease } from "./lease.js";
import { LoadEntry } from "./load-order.js";
import type { WorkerId } from "./names.js";
import type { Queue } from "./queue.js";
import { SlidingCount } from "./sliding-count.js";
import type { WallTime } from "./time.js";
import type { Timed } from "./timed.js";
import type { UrgencyEntry } from "./urgency-order.js";
import type { WorkerProfile } from "./worker-events.js";
import type { DoorPool } from "./worker-pools.js";

/**
 * A worker's offer to take tasks of one queue. A worker with slots has one standing offer; a
 * pulling worker has one for each claim.
 */
export class Offer {
  readonly worker: Worker;
  readonly queue: Queue;
  readonly pool: DoorPool;
  readonly claim: Claim | undefined;
  readonly entry: LoadEntry<Offer>;
  /** Its position among the full workers that take only more urgent tasks, if it ever was one. */
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
  // Copied from the profile because every task needs it: reading the profile would cost another
  // memory access.
  pulls = false;
  runsAtOnce = 1;
  acceptsUrgentOverflow = false;
  /**
   * The length of each attempt's lease. 0 if a lease lasts as long as the worker, or the claim sets
   * it.
   */
  leaseMs = 0;
  slots: number;
  /** Its host when it joined, whose share of places it uses. */
  host = "";
  /** The queues it serves. For a pulling worker, those it has claimed from. */
  readonly queues: Queue[] = [];
  readonly offers: Offer[] = [];
  // Number of leases it holds, revoked ones included.
  held = 0;
  begun = 0;
  /** Number of recalled attempts that are neither back nor begun. */
  recalled = 0;
  revoked = 0;
  oldest: Lease | undefined = undefined;
  newest: Lease | undefined = undefined;
  /** The oldest attempt that it has not begun. */
  nextToBegin: Lease | undefined = undefined;
  /**
   * The highest priority it holds, and how many attempts have it. Maintained only for workers that
   * accept urgent tasks when full.
   */
  urgency = Number.NEGATIVE_INFINITY;
  #atUrgency = 0;
  /** Number of held attempts that it had not begun, according to its last beat. */
  queued: number | undefined = undefined;
  isDraining = false;
  isGone = false;
  /** True if it is gone and only an answer that it left behind is still being stored. */
  isLeaving = false;
  /** Armed while it is offered nothing because it said it was busy. */
  hold: Deadline<Timed> | undefined = undefined;
  lastSeenAt: WallTime;
  /** Attempts that it finished, and those that it reported as failed. */
  done = 0;
  failed = 0;
  readonly doneOfLate = new SlidingCount(60_000);
  info: Readonly<Record<string, unknown>> | undefined = undefined;
  /** Its position among the workers that could return tasks, if it ever said it would. */
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
    this.acceptsUrgentOverflow = profile.acceptsUrgentOverflow === true && !profile.pulls;
    this.leaseMs = profile.pulls ? 0 : (profile.leaseMs ?? 0);
    if (this.acceptsUrgentOverflow) this.#reckonUrgency();
    if (profile.givesBack) this.giver ??= new LoadEntry<Worker>(this);
  }

  get isOnHold(): boolean {
    return this.hold?.isArmed === true;
  }

  /** True if it may be assigned anything now. */
  get takesWork(): boolean {
    return !this.isGone && !this.isLeaving && !this.isDraining && !this.isOnHold;
  }

  /**
   * True if it holds nothing and has no standing offer. The pools of its queues count such workers.
   */
  get isOfferless(): boolean {
    return this.held === 0 && (this.pulls || this.slots === 0) && !this.isDraining;
  }

  /** Counts it into or out of such workers of every queue it serves. */
  countOfferless(by: 1 | -1): void {
    for (const queue of this.queues) this.countIn(queue.pools.of(this.door.name), by);
  }

  countIn(pool: DoorPool, by: 1 | -1): void {
    if (this.pulls) pool.idle += by;
    else pool.unavailable += by;
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
    if (this.isOfferless) this.countOfferless(-1);
    this.held += 1;
    if (this.acceptsUrgentOverflow) this.#countUrgency(lease.task.head.priority);
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
    if (this.isOfferless) this.countOfferless(1);
    if (lease.hasBegun) this.begun -= 1;
    else if (lease.isRecalled) this.recalled -= 1;
    if (lease.isRevoked) this.revoked -= 1;
    if (this.acceptsUrgentOverflow && lease.task.head.priority === this.urgency) {
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

  /** Number of its newest attempts that have certainly not begun and were not recalled. */
  get unbegun(): number {
    const reported = this.queued === undefined ? this.begun : this.held - this.queued;
    return Math.max(0, this.held - Math.max(this.begun, reported) - this.recalled);
  }
}
