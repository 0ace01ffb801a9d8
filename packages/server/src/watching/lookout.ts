// Watches the yard for people. History, failures by kind, lost workers and undelivered outcomes are
// counted always, once a second or as they happen. Problems are computed on request.

import {
  type AttemptEnd,
  after,
  type Instant,
  type Moment,
  type Observer,
  type SeenAttempt,
  type SeenOutcome,
  type SeenTask,
  SlidingCount,
  type WallTime,
  type WorkerView,
} from "@yardmaster/core";
import type { Port } from "../door-kit/door.js";
import { type AlertList, alertsOf, type RecentFault, type WorkerInSight } from "./alerts.js";
import { FailureKinds } from "./failure-kinds.js";
import { History } from "./history.js";
import { LossLog } from "./loss-log.js";

const sampleEveryMs = 1_000;
const tenMinutesMs = 600_000;
const workersCountedMs = 1_000;
/** How long a stall is reported. */
const stallShownMs = 300_000;

/** Facts that other parts of the process provide. */
export interface LookoutFacts {
  /** Peers' mistakes in the last ten minutes. */
  faults?(now: Moment): Iterable<RecentFault>;
  /** Why all new tasks are refused. */
  refusing?(): { readonly reason: string; readonly since: WallTime | undefined } | undefined;
  /** Maximum age of finished tasks. */
  readonly retentionMs?: number;
}

export interface Figures {
  readonly at: WallTime;
  readonly waiting: number;
  readonly running: number;
  /** Means of the last ten seconds. */
  readonly inPerSecond: number;
  readonly donePerSecond: number;
  readonly failedPerSecond: number;
  /** In the last five minutes. */
  readonly done: number;
  readonly failed: number;
  readonly oldest: { readonly at: WallTime; readonly task: number; readonly queue: string } | undefined;
  readonly queues: number;
  readonly workers: number;
  readonly workersIdle: number;
  /** In the last hour. */
  readonly workersLost: number;
  readonly failureKinds: number;
  readonly startedAt: WallTime;
}

type WorkerCounts = Pick<Figures, "workers" | "workersIdle">;

export class Lookout implements Observer {
  readonly failures = new FailureKinds();
  readonly losses = new LossLog();
  readonly history = new History();
  readonly #port: Port;
  readonly #facts: LookoutFacts;
  readonly #undelivered = new SlidingCount(tenMinutesMs);
  #undeliveredSince: WallTime | undefined;
  #undeliveredAt = 0;
  #sampleAt: Instant | undefined;
  #counted: { readonly counts: WorkerCounts; readonly until: number } | undefined;

  constructor(port: Port, facts: LookoutFacts = {}) {
    this.#port = port;
    this.#facts = facts;
  }

  /** Starts the clock and observes the core. */
  start(): void {
    this.#port.reads.observe(this);
    this.#sampleAt = this.#port.now().instant;
  }

  stop(): void {
    this.#sampleAt = undefined;
  }

  nextDeadline(): Instant | undefined {
    return this.#sampleAt;
  }

  handleTimeout(now: Moment): void {
    if (this.#sampleAt === undefined || this.#sampleAt > now.instant) return;
    this.#sampleAt = after(now.instant, sampleEveryMs);
    const { reads } = this.#port;
    this.history.sample(now, reads.queueCounts(), reads.takeGoneTallies());
    this.failures.tick();
    this.losses.tidy(now.wall);
  }

  began(attempt: SeenAttempt): void {
    this.losses.began(attempt);
  }

  ended(attempt: SeenAttempt, how: AttemptEnd): void {
    if (how === "lost") this.losses.attemptLost(attempt);
  }

  finished(task: SeenTask, outcome: SeenOutcome, by: SeenAttempt | undefined, now: Moment): void {
    this.failures.finished(task, outcome, by, now);
    this.losses.finished(task, outcome.state, by);
  }

  workerLost(worker: WorkerView): void {
    this.losses.workerLost(worker);
  }

  undelivered(_task: SeenTask, { instant, wall }: Moment): void {
    if (wall - this.#undeliveredAt > tenMinutesMs) this.#undeliveredSince = wall;
    this.#undeliveredAt = wall;
    this.#undelivered.add(instant);
  }

  /** The workers, each with the time it may be silent. */
  async workers(): Promise<WorkerInSight[]> {
    const { reads } = this.#port;
    return (await reads.workers()).map((worker) => ({ ...worker, silence: silenceOf(reads, worker) }));
  }

  async alerts(): Promise<AlertList> {
    const { reads } = this.#port;
    const [queues, workers] = await Promise.all([reads.queues(), this.workers()]);
    const now = this.#port.now();
    const { slowDisk, stalls } = reads.health();
    const recent = stalls.filter(({ at }) => at > now.wall - stallShownMs);
    const [longest] = recent.toSorted((one, other) => other.ms - one.ms);
    return alertsOf({
      now: now.wall,
      queues,
      workers,
      lost: this.losses.since((now.wall - tenMinutesMs) as WallTime),
      failures: [...this.failures.recent(now)],
      faults: [...(this.#facts.faults?.(now) ?? [])],
      slowDisk,
      stall: longest,
      undelivered: this.#recentUndelivered(now),
      refusing: this.#facts.refusing?.(),
    });
  }

  async figures(): Promise<Figures> {
    const { reads } = this.#port;
    const workers = await this.#countWorkers();
    const now = this.#port.now();
    const mean = (column: "in" | "done" | "failed") => this.history.sumOf(column, now.instant, 10) / 10;
    const sum = { waiting: 0, running: 0, queues: 0 };
    let oldest: Figures["oldest"];
    for (const { name, waiting, running, oldestAt, oldestTask } of reads.queueCounts()) {
      sum.queues += 1;
      sum.waiting += waiting;
      sum.running += running;
      if (oldestAt === undefined || oldestTask === undefined || (oldest?.at ?? oldestAt + 1) <= oldestAt)
        continue;
      oldest = { at: oldestAt, task: oldestTask, queue: name };
    }
    // New counts are shown only after their commit.
    await reads.whenSafe();
    return {
      at: now.wall,
      ...sum,
      inPerSecond: mean("in"),
      donePerSecond: mean("done"),
      failedPerSecond: mean("failed"),
      done: this.history.sumOf("done", now.instant, 300),
      failed: this.history.sumOf("failed", now.instant, 300),
      oldest,
      ...workers,
      workersLost: this.losses.countInHour(now.wall),
      failureKinds: this.failures.countKinds(now),
      startedAt: reads.health().startedAt as WallTime,
    };
  }

  /**
   * Requested several times a second, and there may be many workers, so a recent result is reused.
   */
  async #countWorkers(): Promise<WorkerCounts> {
    const { instant } = this.#port.now();
    if (this.#counted !== undefined && instant < this.#counted.until) return this.#counted.counts;
    const present = (await this.#port.reads.workers()).filter(({ state }) => state !== "lost");
    const workersIdle = present.filter(({ state }) => state === "idle").length;
    const counts = { workers: present.length, workersIdle };
    this.#counted = { counts, until: instant + workersCountedMs };
    return counts;
  }

  #recentUndelivered({ instant, wall }: Moment) {
    const count = Math.round(this.#undelivered.count(instant));
    return { count, since: this.#undeliveredSince ?? wall, keptMs: this.#facts.retentionMs ?? 0 };
  }
}

function silenceOf(reads: Port["reads"], worker: WorkerView) {
  return worker.state === "lost" ? undefined : reads.silenceOf(worker);
}
