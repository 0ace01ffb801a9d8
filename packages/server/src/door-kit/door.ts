// The interface between the runtime and a door. A door never sees the core, the engine or another
// door. It posts events, and later receives the effects addressed to it, never from inside a post.

import type {
  Body,
  Change,
  Effect,
  GoneTally,
  Instant,
  Moment,
  Observer,
  PastOutcome,
  QueueCounts,
  QueueView,
  ScheduleView,
  SeenAttempt,
  StoredTask,
  TaskHead,
  TaskId,
  TaskOutlook,
  TaskPolicy,
  Why,
  WorkerId,
  WorkerView,
  YardEvent,
} from "@yardmaster/core";
import type { BodyPart, TaskPage, TaskQuery } from "@yardmaster/engines";
import type { DiskPace, Silence } from "../watching/alerts.js";
import type { Stall } from "../yard-clock.js";

/** The addresses on which a door listens, by the config key that set them. */
export type DoorAddresses = Readonly<Record<string, string>>;

/** A kind of message that may pass. The queue of such tasks has the same name. */
export interface NamedSpec {
  readonly name: string;
}

export interface Door {
  readonly name: string;
  /** Starts listening. Rejects with a `StartFault` that names the door and the address. */
  open(): Promise<DoorAddresses>;
  /** Listens before the yard runs, on a standby. Absent if the door opens only for an owner. */
  openEarly?(): Promise<DoorAddresses>;
  /** True if its workers cannot say what they hold, so that a restart does not wait for them. */
  readonly forgets?: boolean;
  /**
   * True if it asks its workers what they hold when it opens. A clean stop then leaves their tasks
   * with them.
   */
  readonly resumes?: boolean;
  /** A remark for the start banner, shown next to its addresses once it is open. */
  readonly note?: string | undefined;
  /** Carries out effects addressed to this door. Must not throw. */
  deliver(effects: readonly Effect[]): void;
  /**
   * Timed work of the door itself: liveness, retransmission. Early or repeated calls do nothing.
   * Absent if it has none.
   */
  handleTimeout?(now: Moment): void;
  nextDeadline?(): Instant | undefined;
  /**
   * The payload of a task that this door accepted, in the form that a worker of another dialect
   * receives. Undefined if it is not available. Used by a dialect whose tasks only name their data.
   */
  payloadFor?(task: TaskHead): Body | undefined;
  /**
   * If `payloadFor` must read something first, this returns the reader. Its result is what
   * `payloadFor` returns afterwards.
   */
  payloadReader?(task: TaskHead): PayloadReader | undefined;
  /**
   * True if it reads out-of-line payloads itself when it has room for them: their assignments then
   * come without bytes. Otherwise the runtime reads them first.
   */
  readonly readsPayloads?: boolean;
  /**
   * How long this worker may be silent, and until when. Undefined while it owes no sign of life.
   */
  silenceOf?(worker: WorkerId, now: Moment): Silence | undefined;
  /** Applies settings that can be added while running. Returns the addresses that were added. */
  reload?(config: object, queues: readonly string[]): Promise<DoorAddresses>;
  /** The kinds of messages that may pass, as `/v1/specs` shows them. */
  specs?(): readonly NamedSpec[];
  /**
   * Stops accepting new work. Running work continues. Without it, peers are still heard, and the
   * core refuses what they submit.
   */
  stopAccepting?(): void;
  /** Ends every connection. */
  close(): Promise<void>;
}

/** Gives undefined if the payload is not available. */
export type PayloadReader = () => Promise<Body | undefined>;

/** Every read returns committed state only. */
export interface Reads {
  task(id: TaskId): Promise<StoredTask | undefined>;
  find(query: TaskQuery): Promise<TaskPage>;
  body(id: TaskId, part: BodyPart): Promise<Body | undefined>;
  /**
   * True while the core holds the task: it has not ended, or another task depends on its outcome.
   */
  isLive(id: TaskId): boolean;
  /** Outcomes of tasks that the core no longer holds, without those that do not exist. */
  pastOutcomes(ids: readonly TaskId[]): Promise<readonly PastOutcome[]>;
  /** Unfinished tasks that depend on this one, oldest first, at most `max`. */
  dependents(id: TaskId, max: number): readonly TaskId[];
  /** The retry rules of a live task; undefined if it is not live. */
  policyOf(id: TaskId): TaskPolicy | undefined;
  /** A memo of the calling door. */
  memo(name: string): Promise<Uint8Array | undefined>;
  /** Why a task waits now; undefined if it does not wait. */
  why(id: TaskId): Why | undefined;
  workers(): Promise<readonly WorkerView[]>;
  queues(): Promise<readonly QueueView[]>;
  /** Undefined if there is no queue with this name. */
  queue(name: string): Promise<QueueView | undefined>;
  schedules(): Promise<readonly ScheduleView[]>;
  /**
   * Calls `take` with each batch as it is committed, before its effects are delivered, until the
   * returned function is called.
   */
  follow(take: (changes: readonly Change[]) => void): () => void;
  /** Resolves when everything decided so far is committed. */
  whenSafe(): Promise<void>;
  /** Resolves when the engine is not behind. Background work waits for it between its steps. */
  whenCaughtUp(): Promise<void>;
  /**
   * Reports attempts as they are decided, before they are committed, until the returned function is
   * called.
   */
  observe(observer: Observer): () => void;
  /** Attempts that run now. Do not keep the objects. */
  attempts(): Iterable<SeenAttempt>;
  outlook(id: TaskId): TaskOutlook;
  queueCounts(): Iterable<QueueCounts>;
  takeGoneTallies(): readonly GoneTally[];
  /** Computed by the rules of the worker's dialect. */
  silenceOf(worker: WorkerView): Silence | undefined;
  /** The state of the process itself. */
  health(): Health;
}

export interface Health {
  /** Absent while commits take as long as usual. */
  readonly slowDisk: DiskPace | undefined;
  /** Recent stalls, oldest first. */
  readonly stalls: readonly Stall[];
  readonly startedAt: number;
}

export interface Port {
  readonly door: string;
  post(event: YardEvent): void;
  /** The time of this turn. */
  now(): Moment;
  readonly reads: Reads;
  /**
   * Tasks that this door accepted and that have no outcome yet, or one that was not delivered. A
   * restarted door resumes them.
   */
  openTasks(): Iterable<TaskHead>;
  /**
   * From this call on the door receives effects, and undelivered outcomes are delivered. Without
   * the call, that begins when `open` has ended. A door that resumes `openTasks` calls it in the
   * same turn: an outcome given up in between would never be delivered.
   */
  announce(): void;
  /** The highest id of a task that any door accepted before this start; 0 if there was none. */
  lastRestored(): TaskId;
  /** This door's memos as they were at the start, by name. Call it once, when the door opens. */
  takeMemos(): ReadonlyMap<string, Uint8Array>;
  /**
   * The sizes of memos above `loadedMemoBytesMax`, by name. Their bytes are read with `reads.memo`.
   */
  takeLargeMemos(): ReadonlyMap<string, number>;
  /** While this is true, new work is refused: see `limits.memoryBytes`. */
  isShortOfMemory(): boolean;
}

/**
 * A door or engine that cannot start, and what to do about it. Ends the command with exit code 1.
 */
export class StartFault extends Error {}
