// A live task in memory: its committed head, its place, and its history so far. A million of these
// wait at once, so rarely needed fields live in an object that most tasks share.

import type { Bonds } from "./bonds.js";
import type { Deadline } from "./deadlines.js";
import type { Group } from "./group.js";
import type { Lease } from "./lease.js";
import type { PriorityList } from "./priority-lists.js";
import type { Queue } from "./queue.js";
import type {
  Body,
  FinishedStateName,
  StoryEntry,
  TaskError,
  TaskHead,
  TaskProgress,
  TaskStateName,
} from "./records.js";
import type { Step } from "./step.js";
import type { Instant, WallTime } from "./time.js";
import type { Timed } from "./timed.js";
import type { Worker } from "./worker.js";

/**
 * Where a live task is. Each task is in exactly one place.
 *
 * - ready: in a ready queue.
 * - blocked: waits for other tasks to end.
 * - delayed, backoff: waits for its wake-up.
 * - recovering: was running when the dispatcher stopped; its worker may resume it.
 * - leased: an attempt holds it.
 * - telling: finished, and its outcome is not delivered yet.
 * - depended: finished and delivered; a task that depends on it has not ended.
 * - lingering: finished and settled; a lost attempt may still answer, or a correction is not
 *   committed yet.
 * - gone: settled and no longer in the core.
 */
export type TaskPlace =
  | "ready"
  | "blocked"
  | "delayed"
  | "backoff"
  | "recovering"
  | "leased"
  | "telling"
  | "depended"
  | "lingering"
  | "gone";

/** Additional state of a finished task. */
export interface TaskEnding {
  readonly state: FinishedStateName;
  readonly finishedAt: WallTime;
  /** Delivery is attempted until then. */
  readonly tellUntil: Instant;
  result: Body | undefined;
  readonly error: TaskError | undefined;
  told: boolean;
  settled: number;
  /** Number of delivery attempts. */
  tellings: number;
}

/**
 * Fields that only a task with an unusual life needs. Most tasks are accepted, assigned once and
 * done.
 */
interface Turns {
  losses: number;
  failures: number;
  /** End of the current backoff. */
  notBefore: WallTime | 0;
  /** Wake-up from delay or backoff; for a finished task, the next delivery attempt. */
  wake: Deadline<Timed> | undefined;
  expiry: Deadline<Timed> | undefined;
  /** Latest start. Converted once, so that a jump of the wall clock changes nothing. */
  expiresAt: Instant | undefined;
  /** Doors whose workers cannot take it. */
  unfit: readonly string[] | undefined;
  /** Workers that reported it failed. Others are to try it. */
  avoids: readonly Worker[] | undefined;
  story: readonly StoryEntry[] | undefined;
  /** The tasks that it waits for, and that wait for it. */
  bonds: Bonds | undefined;
}

/** Spelled out: copying a frozen object goes property by property and costs ten times as much. */
function ordinaryTurns(): Turns {
  return {
    losses: 0,
    failures: 0,
    notBefore: 0,
    wake: undefined,
    expiry: undefined,
    expiresAt: undefined,
    unfit: undefined,
    avoids: undefined,
    story: undefined,
    bonds: undefined,
  };
}

const ordinary: Turns = Object.freeze(ordinaryTurns());

export class Task {
  head: TaskHead;
  readonly queue: Queue;
  /** Its group, until it has ended. */
  group: Group | undefined = undefined;
  state: TaskStateName = "waiting";
  place: TaskPlace = "ready";
  // Neighbours in the list of ready or undelivered tasks.
  list: PriorityList<Task> | undefined = undefined;
  previous: Task | undefined = undefined;
  next: Task | undefined = undefined;
  /** The last attempt. While the task is running, this attempt holds it. */
  lease: Lease | undefined = undefined;
  ending: TaskEnding | undefined = undefined;
  /** The step that will record it, if it has changed since the last one. */
  step: Step | undefined = undefined;
  /** True if only its assignment must be recorded. */
  isOnlyBegun = false;
  /** Shared by all tasks until something unusual happens to this one. */
  #turns: Turns = ordinary;

  constructor(head: TaskHead, queue: Queue) {
    this.head = head;
    this.queue = queue;
  }

  get losses(): number {
    return this.#turns.losses;
  }

  set losses(losses: number) {
    this.#own().losses = losses;
  }

  get failures(): number {
    return this.#turns.failures;
  }

  set failures(failures: number) {
    this.#own().failures = failures;
  }

  get notBefore(): WallTime | 0 {
    return this.#turns.notBefore;
  }

  set notBefore(notBefore: WallTime | 0) {
    if (notBefore !== this.#turns.notBefore) this.#own().notBefore = notBefore;
  }

  get wake(): Deadline<Timed> | undefined {
    return this.#turns.wake;
  }

  set wake(wake: Deadline<Timed> | undefined) {
    if (wake !== this.#turns.wake) this.#own().wake = wake;
  }

  get expiry(): Deadline<Timed> | undefined {
    return this.#turns.expiry;
  }

  set expiry(expiry: Deadline<Timed> | undefined) {
    if (expiry !== this.#turns.expiry) this.#own().expiry = expiry;
  }

  get expiresAt(): Instant | undefined {
    return this.#turns.expiresAt;
  }

  set expiresAt(expiresAt: Instant | undefined) {
    this.#own().expiresAt = expiresAt;
  }

  get unfit(): readonly string[] | undefined {
    return this.#turns.unfit;
  }

  set unfit(unfit: readonly string[] | undefined) {
    this.#own().unfit = unfit;
  }

  get avoids(): readonly Worker[] | undefined {
    return this.#turns.avoids;
  }

  set avoids(avoids: readonly Worker[] | undefined) {
    this.#own().avoids = avoids;
  }

  get story(): readonly StoryEntry[] | undefined {
    return this.#turns.story;
  }

  set story(story: readonly StoryEntry[] | undefined) {
    if (story !== this.#turns.story) this.#own().story = story;
  }

  get bonds(): Bonds | undefined {
    return this.#turns.bonds;
  }

  set bonds(bonds: Bonds) {
    this.#own().bonds = bonds;
  }

  #own(): Turns {
    if (this.#turns === ordinary) this.#turns = ordinaryTurns();
    return this.#turns;
  }

  /**
   * Drops all references once the task has left the core and its last record is made. The dead
   * object may stay in the old generation for a while and must not keep younger objects alive.
   */
  forget(): void {
    this.lease = undefined;
    this.ending = undefined;
    this.#turns = ordinary;
  }

  /** Drops the bytes of a body that now lies in the engine. */
  dropBytes(part: "payload" | "result"): void {
    if (part === "payload") this.head = { ...this.head, payload: withoutBytes(this.head.payload) };
    else if (this.ending?.result !== undefined) this.ending.result = withoutBytes(this.ending.result);
  }

  /** Its record in the current state. */
  progress(): TaskProgress {
    const { lease, ending } = this;
    return {
      id: this.head.id,
      state: this.state,
      attempt: lease?.attempt,
      worker: lease?.workerId,
      startedAt: lease?.startedAt,
      finishedAt: ending?.finishedAt,
      losses: this.losses,
      failures: this.failures,
      notBefore: this.notBefore,
      error: ending?.error,
      result: ending?.result,
      told: ending?.told ?? false,
      settled: ending?.settled ?? 0,
      recovering: this.place === "recovering",
      story: this.story,
      report: lease?.reports?.latest,
    };
  }
}

function withoutBytes({ mediaType, size, envelope }: Body): Body {
  return envelope === undefined ? { mediaType, size } : { mediaType, size, envelope };
}

/** True if a worker that could run both gets this one first. */
export function goesBefore(one: Task, other: Task): boolean {
  if (one.head.priority !== other.head.priority) return one.head.priority > other.head.priority;
  return one.head.id < other.head.id;
}
