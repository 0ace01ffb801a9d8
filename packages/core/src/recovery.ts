// How the core comes back: from what was committed, and from nothing else. Tasks that wait, wait again with what is left
// of their deadlines; those that were running wait for their workers; outcomes not yet told are told when their door opens.

import { enter } from "./accepting.js";
import type { DoorState } from "./door-state.js";
import { armKeys, armTellingEnd, trimHistory } from "./finishing.js";
import type { KeyEntry } from "./keys.js";
import { Lease } from "./lease.js";
import { workerIdOf } from "./names.js";
import { countWaiting, makeReady, makeSleep, returnTogether, setPlace } from "./placing.js";
import type { Queue } from "./queue.js";
import type { FinishedStateName, KeyRecord, StoredTask, TaskProgress } from "./records.js";
import { retryDelayMsMax } from "./retry-policy.js";
import type { Task } from "./task.js";
import { tellStory } from "./task-states.js";
import { after, type Instant, instantOf, type WallTime } from "./time.js";
import type { Yard } from "./yard.js";

export class Recovery {
  readonly #yard: Yard;
  readonly #waiting: Task[] = [];
  readonly #keys: KeyEntry[] = [];
  readonly #untold: Task[] = [];

  constructor(yard: Yard) {
    this.#yard = yard;
  }

  task(stored: StoredTask): void {
    const { head, progress } = stored;
    const task = enter(this.#yard, this.queue(head.queue), head);
    if (head.expiresAt !== 0) task.expiresAt = instantOf(head.expiresAt, this.#yard.now);
    if (progress !== undefined) this.#progress(task, progress);
    if (task.state === "waiting") this.#waiting.push(task);
    else this.#finished(task, progress as TaskProgress);
  }

  key(record: KeyRecord): void {
    const queue = this.queue(record.queue);
    const { key, task, fingerprint } = record;
    const expiresAt = this.#end(record.finishedAt, this.#yard.options.keyTtlMs);
    this.#keys.push({ queue, key, task, fingerprint, expiresAt });
  }

  /** Everything is there: queues fill up, and the time of grace begins. */
  finish(): void {
    const yard = this.#yard;
    this.#keys.sort((one, other) => (one.expiresAt ?? 0) - (other.expiresAt ?? 0));
    for (const entry of this.#keys) this.#restoreKey(entry);
    armKeys(yard);
    this.#untold.sort((one, other) => (one.ending?.tellUntil ?? 0) - (other.ending?.tellUntil ?? 0));
    for (const task of this.#untold) yard.untold.add(task);
    armTellingEnd(yard);
    trimHistory(yard);
    yard.deadlines.arm(yard.graceDeadline, after(yard.now.instant, yard.options.graceMs));
    for (const task of this.#waiting) this.#place(task);
  }

  /** When a time that began then is over; never later than if it began now. */
  #end(began: WallTime, ms: number): Instant {
    const { now } = this.#yard;
    return after(instantOf(began < now.wall ? began : now.wall, now), ms);
  }

  /** A live task with the same key came after it, and has it now. */
  #restoreKey(entry: KeyEntry): void {
    const { keys } = entry.queue;
    const current = keys.get(entry.key);
    if (current === undefined || current.task === entry.task) keys.set(entry.key, entry);
    this.#yard.finishedKeys.add(entry);
  }

  queue(name: string): Queue {
    // What was accepted stays, even where the limit on queues has been lowered since.
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
    }
    if (progress.state === "running" || progress.recovering) setPlace(this.#yard, task, "recovering");
    else task.state = progress.state;
  }

  /** Where a waiting task goes. One that was running is recovering already, and stays for the time of grace. */
  #place(task: Task): void {
    if (task.place === "recovering") {
      tellStory(this.#yard, task, "restarted: its worker may come back", task.lease);
      return;
    }
    const { wall } = this.#yard.now;
    const { notBefore, submittedAt } = task.head;
    // Nothing waits longer than it would have from the start: the wall clock may have been set back while we were away.
    const backoffMs = Math.min(task.notBefore - wall, retryDelayMsMax);
    const delayMs = Math.min(notBefore - wall, notBefore - submittedAt);
    if (backoffMs > 0) makeSleep(this.#yard, task, "backoff", backoffMs);
    else if (delayMs > 0 && task.lease === undefined) makeSleep(this.#yard, task, "delayed", delayMs);
    else makeReady(this.#yard, task, "last");
  }

  #finished(task: Task, progress: TaskProgress): void {
    countWaiting(task, -1);
    setPlace(this.#yard, task, "telling");
    // The key of a finished task is where its record is, if it was not forgotten.
    const { key } = task.head;
    if (key !== undefined) task.queue.keys.delete(key);
    task.ending = {
      state: progress.state as FinishedStateName,
      finishedAt: progress.finishedAt ?? task.head.submittedAt,
      result: progress.result,
      error: progress.error,
      tellUntil: this.#end(progress.finishedAt ?? task.head.submittedAt, this.#yard.options.replyTtlMs),
      told: false,
      settled: 0,
      tellings: 0,
    };
    this.#untold.push(task);
  }
}

/** The time of grace is over: what nobody came back for goes out again, without costing a try. */
export function endGrace(yard: Yard): void {
  giveOutAgain(yard, [...yard.recovering]);
}

/** The workers of this door cannot come back for what they held: that goes out again at once. */
export function giveUpOn(yard: Yard, door: DoorState): void {
  const ofDoor = workerIdOf(door.name, "");
  giveOutAgain(
    yard,
    [...yard.recovering].filter((task) => task.lease?.workerId.startsWith(ofDoor)),
  );
}

function giveOutAgain(yard: Yard, tasks: Task[]): void {
  // The newest first, so that the oldest ends up at the head.
  tasks.sort((one, other) => other.head.id - one.head.id);
  returnTogether(yard, () => {
    for (const task of tasks) makeReady(yard, task, "first");
  });
}
