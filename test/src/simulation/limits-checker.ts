// Checks limits and turns of one queue from outside, by the content of the disk when a task arrives
// at a worker. No more tasks run or start than allowed, and no group waits while another has
// several turns in a row.

import {
  type AttemptNumber,
  epochOf,
  type QueueSettings,
  type StoredTask,
  type TaskId,
} from "@yardmaster/core";
import type { MemoryStore } from "@yardmaster/engines";
import { fail, type HeldAttempt } from "./checker.js";
import type { Random } from "./random.js";

/** One attempt, as recorded on the disk. */
interface Start {
  readonly task: TaskId;
  readonly attempt: AttemptNumber;
  readonly at: number;
}

/** A commit in flight may give a group one turn more than is fair. */
const extraTurns = 2;

export function drawLimits(random: Random, usual: QueueSettings): QueueSettings {
  const none = Number.POSITIVE_INFINITY;
  return {
    ...usual,
    maxRunning: random.pick([1, 2, 3, none]),
    maxRunningPerGroup: random.pick([1, 2, none, none]),
    rate: random.chance(0.5) ? { tasks: random.integer(1, 3), perMs: random.pick([500, 2_000]) } : undefined,
  };
}

export class LimitsChecker {
  readonly #store: MemoryStore;
  readonly #settings: QueueSettings;
  /** False if the wall clock jumps: times on the disk then do not show the order. */
  readonly #hasTimes: boolean;
  readonly #graceMs: number;
  readonly #starts = new Map<AttemptNumber, Start>();
  #epoch = 0;
  #openedAt = 0;
  #openedAtWall = 0;

  constructor(
    store: MemoryStore,
    settings: QueueSettings,
    { hasTimes, graceMs }: { hasTimes: boolean; graceMs: number },
  ) {
    this.#store = store;
    this.#settings = settings;
    this.#hasTimes = hasTimes;
    this.#graceMs = graceMs;
  }

  /** A dispatcher has opened. */
  opened(epoch: number, at: number, wall: number): void {
    this.#epoch = epoch;
    this.#openedAt = at;
    this.#openedAtWall = wall;
  }

  workArrived({ task, attempt }: HeldAttempt, at: number): void {
    // Work from before a restart says nothing about the decisions of this dispatcher.
    if (epochOf(attempt) !== this.#epoch || this.#starts.has(attempt)) return;
    const progress = this.#store.task(task)?.progress;
    if (progress?.attempt !== attempt || progress.startedAt === undefined) return;
    this.#starts.set(attempt, { task, attempt, at: progress.startedAt });
    this.#checkRunning(at);
  }

  /** Checked at the end, when every start is known. */
  finish(): void {
    if (!this.#hasTimes) return;
    const starts = [...this.#starts.values()].sort((one, other) => one.attempt - other.attempt);
    this.#checkRate(starts);
    if (this.#settings.maxRunningPerGroup === Number.POSITIVE_INFINITY) this.#checkTurns(starts);
  }

  #checkRunning(at: number): void {
    const { maxRunning, maxRunningPerGroup } = this.#settings;
    const byGroup = new Map<string, number>();
    let running = 0;
    for (const { head, progress } of this.#tasks()) {
      // Its worker may come back during the grace period, whose end is not on the disk.
      const mayRun = progress?.recovering === true && at < this.#openedAt + this.#graceMs;
      if (progress?.state !== "running" && !mayRun) continue;
      running += 1;
      const group = head.relations?.group;
      if (group !== undefined) byGroup.set(group, (byGroup.get(group) ?? 0) + 1);
    }
    if (running > maxRunning) fail(`${running} tasks run, and maxRunning is ${maxRunning}`);
    for (const [group, count] of byGroup)
      if (count > maxRunningPerGroup)
        fail(`${count} tasks of group ${group} run, and maxRunningPerGroup is ${maxRunningPerGroup}`);
  }

  *#tasks(): Generator<StoredTask> {
    for (let id = 1; ; id += 1) {
      const task = this.#store.task(id as TaskId);
      if (task === undefined) return;
      yield task;
    }
  }

  #checkRate(starts: readonly Start[]): void {
    const { rate } = this.#settings;
    if (rate === undefined) return;
    const times = starts.map(({ at }) => at).sort((one, other) => one - other);
    for (const [first, from] of times.entries()) {
      for (let last = first; last < times.length; last += 1) {
        const ms = (times[last] as number) - from;
        const allowed = rate.tasks + (ms * rate.tasks) / rate.perMs + 0.01;
        if (last - first + 1 > allowed)
          fail(`${last - first + 1} tasks started in ${ms} ms, and the rate is ${JSON.stringify(rate)}`);
      }
    }
  }

  #checkTurns(starts: readonly Start[]): void {
    const first = new Map<TaskId, Start>();
    for (const start of starts) if (!first.has(start.task)) first.set(start.task, start);
    for (const start of first.values()) {
      const { head } = this.#store.task(start.task) as StoredTask;
      // A task that waited through a restart or was delayed joined the turns later than the disk
      // says.
      if (head.notBefore !== 0 || epochOf(start.attempt) !== this.#epoch) continue;
      if (head.submittedAt <= this.#openedAtWall) continue;
      this.#checkTurnsBefore(start, starts, first);
    }
  }

  /**
   * While this task waited, each other group had at most one turn more than its own. Attempts are
   * numbered without gaps. Those that reached no worker, because a claim was cut, may have been
   * turns of its own group.
   */
  #checkTurnsBefore(waited: Start, starts: readonly Start[], first: ReadonlyMap<TaskId, Start>): void {
    const { head } = this.#store.task(waited.task) as StoredTask;
    const own = head.relations?.group ?? "";
    const turns = new Map<string, number>();
    const before = starts.filter(({ at, attempt }) => at > head.submittedAt && attempt < waited.attempt);
    const unseen = waited.attempt - (before[0]?.attempt ?? waited.attempt) - before.length;
    for (const start of before) {
      const other = (this.#store.task(start.task) as StoredTask).head;
      const group = other.relations?.group ?? "";
      const counts =
        group === own
          ? other.priority >= head.priority
          : other.priority === head.priority && first.get(start.task) === start;
      if (counts) turns.set(group, (turns.get(group) ?? 0) + 1);
    }
    const fair = (turns.get(own) ?? 0) + extraTurns + unseen;
    for (const [group, count] of turns)
      if (group !== own && count > fair)
        fail(`task ${head.id} of group "${own}" waited for ${count} tasks of group "${group}"`);
  }
}
