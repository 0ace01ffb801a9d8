// A live task as the core holds it: its committed head, where it is now, and what has happened so far. A million of these
// wait at once, so what only some of them need hangs off a field that is otherwise empty.

import type { Deadline } from "./deadlines.js";
import type { Lease } from "./lease.js";
import type { Queue } from "./queue.js";
import type { ReadyList } from "./ready-queue.js";
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
 * Where a live task is; each task is in exactly one place.
 * ready: in a ready queue. delayed, backoff: waits for its wake-up. recovering: was running when we stopped, its worker
 * may come back. leased: an attempt holds it. telling: finished, its asker is not told yet. lingering: finished and
 * settled, a lost attempt may still answer, or its record was wrong until now. gone: settled, and no longer in the core.
 */
export type Place =
  | "ready"
  | "delayed"
  | "backoff"
  | "recovering"
  | "leased"
  | "telling"
  | "lingering"
  | "gone";

/** What a task has when it is finished. */
export interface Ending {
  readonly state: FinishedStateName;
  readonly finishedAt: WallTime;
  /** The outcome is told until then. */
  readonly tellUntil: Instant;
  result: Body | undefined;
  readonly error: TaskError | undefined;
  told: boolean;
  settled: number;
  /** How often it was tried to tell. */
  tellings: number;
}

/** What a task has only when its life is not the ordinary one: accepted, given out once, done. Most have none of it. */
interface Turns {
  losses: number;
  failures: number;
  /** While it waits for a wake-up because of backoff: when that is. */
  notBefore: WallTime | 0;
  /** Wake-up from delay or backoff; once finished, the next telling or the end of it. */
  wake: Deadline<Timed> | undefined;
  expiry: Deadline<Timed> | undefined;
  /** Not to be started after this; reckoned once, so that a jump of the wall clock changes nothing. */
  expiresAt: Instant | undefined;
  /** Doors whose workers cannot take it. */
  unfit: readonly string[] | undefined;
  /** Workers that reported it as failed, for others to try. */
  avoids: readonly Worker[] | undefined;
  story: readonly StoryEntry[] | undefined;
}

/** Written out, not copied: a copy of what is frozen is made property by property, at ten times the price. */
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
  };
}

const ordinary: Turns = Object.freeze(ordinaryTurns());

export class Task {
  head: TaskHead;
  readonly queue: Queue;
  state: TaskStateName = "waiting";
  place: Place = "ready";
  // Its neighbours while it is ready, or told.
  list: ReadyList | undefined = undefined;
  previous: Task | undefined = undefined;
  next: Task | undefined = undefined;
  /** The last attempt: the one that holds it while it is running, else the one that did. */
  lease: Lease | undefined = undefined;
  ending: Ending | undefined = undefined;
  /** The step that will write it down, if it has changed since the last. */
  step: Step | undefined = undefined;
  /** All that is to be written down is that it was given out. */
  isOnlyBegun = false;
  /** Shared with all others until something out of the ordinary happens to it. */
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

  #own(): Turns {
    if (this.#turns === ordinary) this.#turns = ordinaryTurns();
    return this.#turns;
  }

  /**
   * Lets go of all it refers to, once it has left the core and its last record is made. It may lie in memory for a while
   * yet as garbage, and must not keep younger things from being collected.
   */
  forget(): void {
    this.lease = undefined;
    this.ending = undefined;
    this.#turns = ordinary;
  }

  /** The bytes of its payload or result lie in the engine from now on. */
  dropBytes(part: "payload" | "result"): void {
    if (part === "payload") this.head = { ...this.head, payload: withoutBytes(this.head.payload) };
    else if (this.ending?.result !== undefined) this.ending.result = withoutBytes(this.ending.result);
  }

  /** The record of it, as of now. */
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
    };
  }
}

function withoutBytes({ mediaType, size }: Body): Body {
  return { mediaType, size };
}
