// What doors tell the core: things that happened, in the past tense. Every event is a plain value, so that it can be
// posted from another process. An event that makes no sense is counted and refused, never thrown.

import type { AttemptNumber, RequestId, TaskId, WorkerId } from "./names.js";
import type { Body, ReplyTo, TaskError } from "./records.js";
import type { WallTime } from "./time.js";

/** An event with the door's number on it: 1, 2, 3, … A repeated number is dropped; a gap means that peers were lost. */
export interface Post {
  readonly door: string;
  readonly number: number;
  readonly event: YardEvent;
}

export interface Submission {
  readonly queue: string;
  readonly payload: Body;
  /** Higher goes first; 0 if absent. */
  readonly priority?: number;
  readonly delayMs?: number;
  readonly expiresAt?: WallTime;
  /** How long it may wait each time it enters `waiting`, backoff aside. */
  readonly waitingMsMax?: number;
  readonly attemptTimeoutMs?: number;
  readonly attempts?: number;
  readonly failures?: number;
  readonly key?: string;
  readonly fingerprint?: string;
  readonly replyTo?: ReplyTo;
  readonly envelope?: Uint8Array;
  /** Its client does not ask again, whatever it is told: it is accepted while the dispatcher stops, too, for its next life. */
  readonly isAskedOnce?: boolean;
}

export interface WorkerProfile {
  readonly dialect: string;
  /** Where it is, for people. */
  readonly address: string;
  readonly queues: readonly string[];
  /** How many attempts it may hold. Without meaning for a worker that pulls. */
  readonly slots: number;
  /** How many of those it works on at once; the rest lie in a queue of its own. */
  readonly runsAtOnce: number;
  /** It takes work only when it asks (`work-wanted`), and only as much as it asks for. */
  readonly pulls: boolean;
  /** It can be asked for tasks it has not begun. */
  readonly givesBack: boolean;
  /**
   * A task that is more urgent than all it holds may be given to it beyond its slots: those it holds may be waiting for
   * that one to be done. So at most one more for each priority there is.
   */
  readonly passesLimit?: boolean;
}

/** Why an attempt or a worker was lost. */
export type LossReason =
  | "connection_closed"
  | "silence"
  | "goodbye"
  | "send_failed"
  | "time_limit"
  | "lease_over"
  | "restarted"
  | "reported"
  | "forgotten"
  | "door_lost";

/** Why an attempt came back that costs no try. */
export type ReturnReason =
  | "busy"
  | "balance"
  | "undelivered"
  | "does_not_fit"
  | "drain"
  | "goodbye"
  | "stopping";

/** Which attempt a worker speaks of. `attempt` is absent where the dialect names only the task. */
export interface AttemptClaim {
  readonly worker: WorkerId;
  readonly task: TaskId;
  readonly attempt: AttemptNumber | undefined;
  /** The door has not handed it to this worker in this life: then only what was given out before our restart is meant. */
  readonly isOfBefore?: boolean;
  readonly request?: RequestId;
}

export type YardEvent =
  /**
   * The door is open, with an incarnation of its own. The peers of an earlier one are gone. `forgets`: its workers cannot
   * say what they hold, so none of them comes back for what it held before our restart. `resumes`: its workers are asked what
   * they hold when we come back, so that at a clean stop it stays with them.
   */
  | {
      readonly type: "door-opened";
      readonly incarnation: number;
      readonly forgets?: boolean;
      readonly resumes?: boolean;
    }
  // Askers
  | { readonly type: "task-submitted"; readonly request?: RequestId; readonly submission: Submission }
  | {
      readonly type: "cancel-asked";
      readonly request?: RequestId;
      readonly task: TaskId;
      readonly by: string;
    }
  /** Which task has this key: for askers that know it by no other name. */
  | {
      readonly type: "task-sought";
      readonly request: RequestId;
      readonly queue: string;
      readonly key: string;
    }
  /** Somebody who holds no lease answered it, in a dialect whose answers carry no attempt: the first one counts. */
  | ({
      readonly type: "task-answered";
      readonly request?: RequestId;
      readonly task: TaskId;
      readonly by: string;
    } & ({ readonly result: Body } | { readonly error: TaskError }))
  /** Somebody waits for the outcome, at most so long. */
  | {
      readonly type: "task-watched";
      readonly request: RequestId;
      readonly task: TaskId;
      readonly forMs: number;
    }
  /** Whoever made this request (a watch or a wish for work) no longer waits. */
  | { readonly type: "request-dropped"; readonly request: RequestId }
  | { readonly type: "outcomes-told"; readonly tasks: readonly TaskId[] }
  /** `again`: try later. Otherwise the asker is gone, and the outcome stays readable with `told: false`. */
  | { readonly type: "outcome-undelivered"; readonly task: TaskId; readonly again: boolean }
  // Workers
  | { readonly type: "worker-joined"; readonly worker: WorkerId; readonly profile: WorkerProfile }
  /** Alive. `queued`: how many of the attempts it holds it has not begun. `info`: what it says of itself, for people. */
  | {
      readonly type: "worker-beat";
      readonly worker: WorkerId;
      readonly queued?: number;
      readonly info?: Readonly<Record<string, unknown>>;
    }
  /** `message`: what it said went wrong, for the stories of the tasks it held. */
  | {
      readonly type: "worker-left";
      readonly worker: WorkerId;
      readonly reason: LossReason;
      readonly message?: string;
    }
  /** It ends in order: what it still holds comes back untried, and it is not counted among the lost. */
  | { readonly type: "worker-retired"; readonly request?: RequestId; readonly worker: WorkerId }
  | {
      readonly type: "work-wanted";
      readonly request: RequestId;
      readonly worker: WorkerId;
      readonly queue: string;
      readonly max: number;
      readonly forMs: number;
      /** The lease of each attempt; it is over unless beaten. */
      readonly leaseMs: number;
    }
  | ({ readonly type: "attempt-done"; readonly result: Body } & AttemptClaim)
  /**
   * `asLoss`: the dialect wants another worker to try (pulse's TASK_FAILED), so it counts as a loss. `result`: what the
   * worker left of its failure, where the dialect has more for it than words.
   */
  | ({
      readonly type: "attempt-failed";
      readonly error: TaskError;
      readonly asLoss?: boolean;
      readonly result?: Body;
    } & AttemptClaim)
  | ({ readonly type: "attempt-lost"; readonly reason: LossReason } & AttemptClaim)
  /** Comes back untried. `holdMs`: offer this worker nothing for so long, or until its next beat. */
  | ({
      readonly type: "attempt-returned";
      readonly reason: ReturnReason;
      readonly holdMs?: number;
    } & AttemptClaim)
  /** The worker says that it holds this attempt; `leaseMs` starts its lease anew. */
  | ({ readonly type: "attempt-beat"; readonly leaseMs?: number } & AttemptClaim)
  // What a door has to remember over a restart (a registration, an object): a record of its own under a name
  | {
      readonly type: "memo-written";
      readonly request?: RequestId;
      readonly name: string;
      readonly bytes: Uint8Array;
    }
  | { readonly type: "memo-dropped"; readonly name: string }
  // Operators
  | { readonly type: "worker-drain-asked"; readonly request?: RequestId; readonly worker: WorkerId }
  | {
      readonly type: "queue-order-given";
      readonly request?: RequestId;
      readonly queue: string;
      readonly order: "pause" | "resume" | "drain";
      /** Refuse with `not_found` instead of making the queue: a typo would pause a queue that nobody uses. */
      readonly mustExist?: boolean;
    }
  /** The store has no room for new tasks, and why; or, without a reason, it has room again. All else goes on. */
  | { readonly type: "store-room-changed"; readonly shortage: string | undefined }
  /** The process has little memory left, or has enough again. While it is short, new tasks are refused. */
  | { readonly type: "memory-noted"; readonly isShort: boolean }
  /** The dispatcher is stopping: nothing new is accepted or given out. */
  | { readonly type: "yard-closing" }
  /** The time for running attempts is over: what is still out comes back without costing a try. */
  | { readonly type: "yard-closed" };
