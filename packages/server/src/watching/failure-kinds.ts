// Failed and expired tasks by kind, with a trend and with what they share. They are counted as they
// end, so the counts do not depend on retention. The number of kinds and the work per second are
// bounded.

import {
  type Instant,
  type Moment,
  type SeenAttempt,
  type SeenOutcome,
  type SeenTask,
  SlidingCount,
  type TaskId,
  type WallTime,
} from "@yardmaster/core";
import type { RecentFailure } from "./alerts.js";
import { kindWords } from "./kind-words.js";
import { differences, Profile, type Share } from "./profile.js";
import { Trend } from "./trend.js";

const kindsMax = 200;
const minuteMs = 60_000;
const quarterMs = 900_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const recentMs = 600_000;
/** Maximum number of queues with a profile of their done tasks. */
const profilesMax = 1_000;
/** Maximum number of done tasks that are examined per second. Beyond it, every n-th is. */
const doneSampledPerSecond = 100;
/**
 * Maximum number of messages that are sorted into kinds per second. The others are counted by their
 * code alone.
 */
const readPerSecond = 500;
/** Maximum number of workers that are told apart for each kind. */
const workersMax = 32;
/** A kind is new if it was first seen within this time. */
const newMs = hourMs;

export type Span = "1h" | "24h";

class Kind {
  readonly id: string;
  readonly code: string;
  readonly queue: string;
  readonly words: string;
  readonly isExpired: boolean;
  readonly firstAt: WallTime;
  lastAt: WallTime;
  message = "";
  task = 0 as TaskId;
  readonly profile = new Profile();
  readonly minutes: Trend;
  readonly quarters: Trend;
  readonly recent = new SlidingCount(recentMs);
  lateSince: WallTime;
  readonly recentWorkers = new Map<string, SlidingCount>();

  constructor(
    id: string,
    seen: { code: string; queue: string; words: string },
    isExpired: boolean,
    now: WallTime,
  ) {
    this.id = id;
    this.code = seen.code;
    this.queue = seen.queue;
    this.words = seen.words;
    this.isExpired = isExpired;
    this.firstAt = now;
    this.lastAt = now;
    this.lateSince = now;
    this.minutes = new Trend(minuteMs, 60);
    this.quarters = new Trend(quarterMs, 96);
  }

  add(task: SeenTask, message: string, by: SeenAttempt | undefined, now: Moment): void {
    if (now.wall - this.lastAt > recentMs) this.lateSince = now.wall;
    this.lastAt = now.wall;
    this.message = message;
    this.task = task.head.id;
    this.profile.add(task, by, false);
    this.minutes.add(now.instant);
    this.quarters.add(now.instant);
    this.recent.add(now.instant);
    if (by !== undefined) this.#addWorker(by.workerId, now.instant);
  }

  #addWorker(worker: string, now: Instant): void {
    let count = this.recentWorkers.get(worker);
    if (count === undefined) {
      if (this.recentWorkers.size >= workersMax) this.#dropIdle(now);
      if (this.recentWorkers.size >= workersMax) return;
      count = new SlidingCount(recentMs);
      this.recentWorkers.set(worker, count);
    }
    count.add(now);
  }

  #dropIdle(now: Instant): void {
    for (const [worker, count] of this.recentWorkers) {
      if (count.count(now) < 1) this.recentWorkers.delete(worker);
    }
  }

  trend(span: Span): Trend {
    return span === "1h" ? this.minutes : this.quarters;
  }
}

export interface KindView {
  readonly id: string;
  readonly code: string;
  readonly queue: string;
  readonly words: string;
  readonly isExpired: boolean;
  /** Of the last task of this kind. */
  readonly message: string;
  readonly task: TaskId;
  readonly count: number;
  readonly firstAt: WallTime;
  readonly lastAt: WallTime;
  readonly isNew: boolean;
  readonly trend: readonly number[];
  readonly worker: { readonly id: string; readonly count: number } | undefined;
  readonly shares: readonly Share[];
  readonly doneSample: number;
}

export interface FailureList {
  readonly items: readonly KindView[];
  /** Failures that were counted without a kind of their own. */
  readonly rest: number;
  readonly tasks: number;
  readonly kinds: number;
  readonly stepMs: number;
}

export class FailureKinds {
  readonly #kinds = new Map<string, Kind>();
  readonly #done = new Map<string, Profile>();
  readonly #restMinutes = new Trend(minuteMs, 60);
  readonly #restQuarters = new Trend(quarterMs, 96);
  #lastId = 0;
  #doneSeen = 0;
  #doneStride = 1;
  #read = 0;

  finished(task: SeenTask, { state, error }: SeenOutcome, by: SeenAttempt | undefined, now: Moment): void {
    if (state === "done") this.#sampleDone(task, by);
    else if (state !== "cancelled")
      this.#failed(task, state === "expired", error?.code ?? state, error?.message ?? "", by, now);
  }

  /** Called once a second: renews the budgets. */
  tick(): void {
    this.#doneStride = Math.max(1, Math.ceil(this.#doneSeen / doneSampledPerSecond));
    this.#doneSeen = 0;
    this.#read = 0;
  }

  list(span: Span, now: Moment, queue?: string): FailureList {
    const items = [...this.#kinds.values()]
      .filter((kind) => queue === undefined || kind.queue === queue)
      .map((kind) => this.#view(kind, span, now))
      .filter(({ count }) => count > 0)
      .sort((one, other) => other.count - one.count || other.lastAt - one.lastAt);
    const failed = items.filter(({ isExpired }) => !isExpired);
    const rest = queue === undefined ? this.#rest(span).sum(now.instant) : 0;
    return {
      items,
      rest,
      tasks: failed.reduce((sum, { count }) => sum + count, rest),
      kinds: failed.length,
      stepMs: this.#rest(span).stepMs,
    };
  }

  /** Number of kinds of failed tasks in the last hour. */
  countKinds(now: Moment): number {
    let kinds = 0;
    for (const kind of this.#kinds.values()) {
      if (!kind.isExpired && now.wall - kind.lastAt < hourMs) kinds += 1;
    }
    return kinds;
  }

  /** Failed tasks of the last ten minutes, by kind. */
  *recent({ instant, wall }: Moment): Generator<RecentFailure> {
    for (const {
      id,
      queue,
      code,
      isExpired,
      lastAt,
      words,
      lateSince,
      recent,
      recentWorkers,
    } of this.#kinds.values()) {
      if (isExpired || wall - lastAt > recentMs) continue;
      let worker: { id: string; count: number } | undefined;
      for (const [name, count] of recentWorkers) {
        const seen = Math.round(count.count(instant));
        if (seen > 0 && (worker === undefined || seen > worker.count)) worker = { id: name, count: seen };
      }
      const count = Math.round(recent.count(instant));
      yield { kind: id, queue, code, words, count, since: lateSince, worker };
    }
  }

  #sampleDone(task: SeenTask, by: SeenAttempt | undefined): void {
    this.#doneSeen += 1;
    if (this.#doneStride > 1 && this.#doneSeen % this.#doneStride !== 0) return;
    const { queue } = task.head;
    let profile = this.#done.get(queue);
    if (profile === undefined) {
      if (this.#done.size >= profilesMax) return;
      profile = new Profile();
      this.#done.set(queue, profile);
    }
    profile.add(task, by, true);
  }

  #failed(
    task: SeenTask,
    isExpired: boolean,
    code: string,
    message: string,
    by: SeenAttempt | undefined,
    now: Moment,
  ): void {
    this.#read += 1;
    const words = this.#read > readPerSecond ? undefined : kindWords(message);
    const kind =
      words === undefined ? undefined : this.#kind({ code, queue: task.head.queue, words }, isExpired, now);
    if (kind !== undefined) kind.add(task, message, by, now);
    else {
      this.#restMinutes.add(now.instant);
      this.#restQuarters.add(now.instant);
    }
  }

  #kind(
    seen: { code: string; queue: string; words: string },
    isExpired: boolean,
    { wall }: Moment,
  ): Kind | undefined {
    const key = `${seen.queue} ${isExpired} ${seen.code} ${seen.words}`;
    const known = this.#kinds.get(key);
    if (known !== undefined) return known;
    if (this.#kinds.size >= kindsMax) this.#dropOld(wall);
    if (this.#kinds.size >= kindsMax) return undefined;
    this.#lastId += 1;
    const kind = new Kind(`k${this.#lastId}`, seen, isExpired, wall);
    this.#kinds.set(key, kind);
    return kind;
  }

  #dropOld(now: WallTime): void {
    for (const [key, kind] of this.#kinds) if (now - kind.lastAt > dayMs) this.#kinds.delete(key);
  }

  #rest(span: Span): Trend {
    return span === "1h" ? this.#restMinutes : this.#restQuarters;
  }

  #view(kind: Kind, span: Span, now: Moment): KindView {
    const { id, code, queue, words, isExpired, message, task, firstAt, lastAt, profile } = kind;
    const trend = kind.trend(span).points(now.instant);
    const done = this.#done.get(queue);
    const most = profile.most("worker");
    return {
      id,
      code,
      queue,
      words,
      isExpired,
      message,
      task,
      count: trend.reduce((sum, count) => sum + count, 0),
      firstAt,
      lastAt,
      isNew: now.wall - firstAt < newMs,
      trend,
      worker: most === undefined ? undefined : { id: most.value, count: most.count },
      shares: differences(profile, done),
      doneSample: done?.count ?? 0,
    };
  }
}
