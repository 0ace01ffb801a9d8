// Restores the core from committed state alone. Waiting tasks wait for the rest of their deadlines,
// tasks that were running wait for their workers, and undelivered outcomes are delivered when their
// door opens.

import { enter } from "./accepting.js";
import { bind, block, releaseDependents, remainingDelayMs } from "./dependencies.js";
import type { DoorState } from "./door-state.js";
import type { HistorySegment } from "./history-segment.js";
import { armKeys } from "./key-ageing.js";
import type { KeyEntry } from "./keys.js";
import { Lease } from "./lease.js";
import { workerIdOf } from "./names.js";
import { OwnMemos } from "./own-memos.js";
import { makeReady, makeSleep, returnTogether } from "./placing.js";
import type { Queue } from "./queue.js";
import type {
  DoorRecord,
  FinishedStateName,
  KeyRecord,
  MemoRecord,
  QueueRecord,
  StoredTask,
  TaskHead,
  TaskProgress,
} from "./records.js";
import { Reports } from "./reports.js";
import { retryDelayMsMax } from "./retry-policy.js";
import { readScheduleMemo } from "./schedule.js";
import { addSchedule, beginSchedules } from "./scheduling.js";
import { isDependedOn, keepDepended, settleDepended, trimHistory } from "./settling.js";
import type { Task } from "./task.js";
import { countWaiting, setPlace } from "./task-place.js";
import { tellStory } from "./task-states.js";
import { armTellingEnd } from "./telling.js";
import { after, type Instant, instantOf, type WallTime } from "./time.js";
import type { Yard } from "./yard.js";

export class Recovery {
  readonly #yard: Yard;
  readonly #waiting: Task[] = [];
  readonly #keys: KeyEntry[] = [];
  readonly #untold: Task[] = [];
  readonly #depended: Task[] = [];
  readonly #memos: OwnMemos;

  constructor(yard: Yard) {
    this.#yard = yard;
    this.#memos = new OwnMemos(yard);
  }

  task(stored: StoredTask): void {
    const { head, progress } = stored;
    const task = enter(this.#yard, this.#queue(head.queue), head);
    if (head.expiresAt !== 0) task.expiresAt = this.#expiryOf(head);
    if (progress !== undefined) this.#progress(task, progress);
    if (task.state === "waiting") this.#waiting.push(task);
    else this.#finished(task, progress as TaskProgress);
  }

  /** At most the time that the client gave it: the wall clock may have been set back meanwhile. */
  #expiryOf({ expiresAt, submittedAt }: TaskHead): Instant {
    const { instant, wall } = this.#yard.now;
    return after(instant, Math.min(expiresAt - wall, expiresAt - submittedAt));
  }

  key(record: KeyRecord): void {
    const queue = this.#queue(record.queue);
    const { key, task, fingerprint } = record;
    const expiresAt = this.#end(record.finishedAt, this.#yard.options.keyTtlMs);
    this.#keys.push({ queue, key, task, fingerprint, expiresAt });
  }

  orders({ name, paused, draining }: QueueRecord): void {
    const queue = this.#queue(name);
    queue.isPaused = paused;
    queue.isDraining = draining;
  }

  door({ name, incarnation, mark }: DoorRecord): void {
    const door = this.#yard.door(name);
    door.incarnation = incarnation;
    door.mark = mark;
  }

  segment(segment: HistorySegment): void {
    this.#yard.histories.restore(segment, this.#yard.now);
  }

  /** Restores a memo of the core's own, which is one of `coreMemoDoor`. */
  memo(memo: MemoRecord): void {
    const schedule = readScheduleMemo(memo);
    if (schedule !== undefined) addSchedule(this.#yard, schedule.name, schedule.settings, schedule.state);
    else this.#memos.restore(memo);
  }

  /** Ends restoring: waiting tasks enter their queues, and the grace period begins. */
  finish(): void {
    const yard = this.#yard;
    this.#keys.sort((one, other) => (one.expiresAt ?? 0) - (other.expiresAt ?? 0));
    for (const entry of this.#keys) this.#restoreKey(entry);
    armKeys(yard);
    this.#untold.sort((one, other) => (one.ending?.tellUntil ?? 0) - (other.ending?.tellUntil ?? 0));
    for (const task of this.#untold) yard.untold.add(task);
    armTellingEnd(yard);
    this.#memos.finish();
    trimHistory(yard);
    yard.deadlines.arm(yard.graceDeadline, after(yard.now.instant, yard.options.graceMs));
    // All are bound before the first is placed: one that is cancelled at once has dependents too.
    for (const task of this.#waiting) bind(yard, task);
    for (const task of this.#depended) keepDepended(yard, task);
    for (const task of this.#waiting) this.#place(task);
    for (const task of this.#depended) if (!isDependedOn(task)) settleDepended(yard, task);
    releaseDependents(yard);
    beginSchedules(yard);
  }

  /** The end of a period that began at `began`. Never later than if it began now. */
  #end(began: WallTime, ms: number): Instant {
    const { now } = this.#yard;
    return after(instantOf(began < now.wall ? began : now.wall, now), ms);
  }

  /** A newer live task may own the same key. It keeps it. */
  #restoreKey(entry: KeyEntry): void {
    const { keys } = entry.queue;
    const current = keys.get(entry.key);
    if (current === undefined || current.task === entry.task) keys.set(entry.key, entry);
    this.#yard.finishedKeys.add(entry);
  }

  #queue(name: string): Queue {
    // Accepted tasks stay, even if the limit on queues has been lowered since.
    return this.#yard.queues.get(name) ?? this.#yard.addQueue(name);
  }

  #progress(task: Task, progress: TaskProgress): void {
    task.losses = progress.losses;
    task.failures = progress.failures;
    task.story = progress.story;
    task.notBefore = progress.notBefore;
    const { attempt, worker, startedAt } = progress;
    if (attempt !== undefined && worker !== undefined && startedAt !== undefined) {
      task.lease = new Lease(attempt, task, undefined, worker, startedAt);
      if (progress.report !== undefined) task.lease.reports = new Reports(progress.report);
    }
    if (progress.state === "running" || progress.recovering) setPlace(this.#yard, task, "recovering");
    else task.state = progress.state;
  }

  /**
   * Puts a waiting task in its place. A task that was running is already recovering, and stays so
   * for the grace period.
   */
  #place(task: Task): void {
    if (task.place === "recovering") {
      tellStory(this.#yard, task, "restarted: its worker may come back", task.lease);
      return;
    }
    // A task that has run before depends on nothing any more.
    if (task.lease === undefined && block(this.#yard, task) !== undefined) return;
    const { wall } = this.#yard.now;
    // Bounded by the original delay: the wall clock may have been set back while the dispatcher was
    // down.
    const backoffMs = Math.min(task.notBefore - wall, retryDelayMsMax(task.queue.settings.backoff));
    const delayMs = remainingDelayMs(this.#yard, task.head);
    if (backoffMs > 0) makeSleep(this.#yard, task, "backoff", backoffMs);
    else if (delayMs > 0 && task.lease === undefined) makeSleep(this.#yard, task, "delayed", delayMs);
    else makeReady(this.#yard, task, "last");
  }

  #finished(task: Task, progress: TaskProgress): void {
    countWaiting(task, -1);
    // The key of a finished task has its own record, unless it was forgotten.
    const { key } = task.head;
    if (key !== undefined) task.queue.keys.delete(key);
    task.ending = {
      state: progress.state as FinishedStateName,
      finishedAt: progress.finishedAt ?? task.head.submittedAt,
      result: progress.result,
      error: progress.error,
      tellUntil: this.#end(progress.finishedAt ?? task.head.submittedAt, this.#yard.options.replyTtlMs),
      told: progress.told,
      settled: 0,
      tellings: 0,
    };
    // Delivered, or with nowhere to deliver it: it was kept for those that depend on it.
    if (progress.told || task.head.replyTo === undefined) {
      this.#depended.push(task);
      return;
    }
    setPlace(this.#yard, task, "telling");
    this.#untold.push(task);
  }
}

/**
 * The grace period is over: tasks that no worker resumed are assigned again, without costing an
 * attempt.
 */
export function endGrace(yard: Yard): void {
  giveOutAgain(yard, [...yard.recovering]);
}

/** Workers of this door cannot resume attempts, so their tasks are assigned again at once. */
export function giveUpOn(yard: Yard, door: DoorState): void {
  const ofDoor = workerIdOf(door.name, "");
  giveOutAgain(
    yard,
    [...yard.recovering].filter((task) => task.lease?.workerId.startsWith(ofDoor)),
  );
}

function giveOutAgain(yard: Yard, tasks: Task[]): void {
  // Newest first, so that the oldest ends up at the head of the queue.
  tasks.sort((one, other) => other.head.id - one.head.id);
  returnTogether(yard, () => {
    for (const task of tasks) makeReady(yard, task, "first");
  });
}
