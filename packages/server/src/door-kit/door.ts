// What a door is to the runtime, and what the runtime is to a door. A door never sees the core, the engine or another
// door: it posts events and is handed the effects that are addressed to it, later and never from inside a post.

import type {
  Body,
  Change,
  Effect,
  Instant,
  Moment,
  QueueView,
  StoredTask,
  TaskHead,
  TaskId,
  Why,
  WorkerView,
  YardEvent,
} from "@yardmaster/core";
import type { BodyPart, TaskPage, TaskQuery } from "@yardmaster/engines";

/** The addresses a door listens on, by the name of the config key that set them. */
export type DoorAddresses = Readonly<Record<string, string>>;

export interface Door {
  readonly name: string;
  /** Starts listening. Rejects with a `StartFault` that names the door and the address. */
  open(): Promise<DoorAddresses>;
  /** Its workers cannot say what they hold, so after our restart nobody waits for them to. */
  readonly forgets?: boolean;
  /** It asks its workers what they hold when it opens: at a clean stop that stays with them. */
  readonly resumes?: boolean;
  /** Once it is open: what whoever started it should know beside its addresses. */
  readonly note?: string | undefined;
  /** Carries out effects addressed to this door. Must not throw. */
  deliver(effects: readonly Effect[]): void;
  /** Timed work of the door's own: liveness, retransmission. Early or repeated calls do nothing. */
  handleTimeout(now: Moment): void;
  nextDeadline(): Instant | undefined;
  /**
   * The payload of a task that came in by this door, as a worker of another dialect is to have it; undefined where it is
   * not to be had. For a dialect whose tasks only name what they are about.
   */
  payloadFor?(task: TaskHead): Body | undefined;
  /**
   * It reads payloads that the engine keeps apart itself, when it has room for them: their assignments come without
   * bytes. Otherwise the runtime reads them first.
   */
  readonly readsPayloads?: boolean;
  /** Stops taking new work in; what is under way goes on. */
  stopAccepting(): void;
  /** Ends every connection. */
  close(): Promise<void>;
}

/** What a read sees is committed, always. */
export interface Reads {
  task(id: TaskId): Promise<StoredTask | undefined>;
  find(query: TaskQuery): Promise<TaskPage>;
  body(id: TaskId, part: BodyPart): Promise<Body | undefined>;
  /** Why a task waits now; undefined for one that does not. */
  why(id: TaskId): Why | undefined;
  workers(): Promise<readonly WorkerView[]>;
  queues(): Promise<readonly QueueView[]>;
  /** What is committed from now on, batch by batch and before anybody is told; until the function returned is called. */
  follow(take: (changes: readonly Change[]) => void): () => void;
}

export interface Port {
  readonly door: string;
  post(event: YardEvent): void;
  /** The time of this turn. */
  now(): Moment;
  readonly reads: Reads;
  /** The tasks that came in by this door and have no outcome yet, or one that was not told: what a restarted door takes up. */
  untold(): Iterable<TaskHead>;
  /** The highest number of a task that was accepted before this start, by any door; 0 when there was none. */
  lastRestored(): TaskId;
  /** What this door's memos said when the dispatcher started, by name. To be asked for once, when the door opens. */
  takeMemos(): ReadonlyMap<string, Uint8Array>;
}

/** A door or engine that cannot start: which, and what to do about it. Ends the command with exit code 1. */
export class StartFault extends Error {}
