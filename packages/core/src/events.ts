// Events that doors post to the core, in the past tense. Every event is a plain value, so it can
// come from another process. An event that makes no sense is counted and refused, never thrown.

import type { QueueSettings } from "./limits.js";
import type { AttemptNumber, RequestId, TaskId, WorkerId } from "./names.js";
import type {
  ActionRecord,
  Body,
  FinishedStateName,
  IfFailed,
  ReplyTo,
  TaskError,
  TaskReport,
  TaskStateName,
} from "./records.js";
import type { ScheduleSettings } from "./schedule.js";
import type { WallTime } from "./time.js";

/**
 * An event with its number within the door: 1, 2, 3, … A repeated number is dropped. A gap means
 * that peers were lost.
 */
export interface Post {
  readonly door: string;
  readonly number: number;
  readonly event: YardEvent;
}

export interface PastOutcome {
  readonly task: TaskId;
  readonly state: FinishedStateName;
}

/** One task of a graph. */
export interface GraphItem {
  readonly submission: Submission;
  /** Indexes of the items that must end before it may start, besides `submission.after`. */
  readonly afterItems: readonly number[];
}

export interface Submission {
  readonly queue: string;
  /** The client's host, at doors whose clients may name new queues. Those are counted by host. */
  readonly host?: string | undefined;
  readonly payload: Body;
  /** Higher runs first. The default is 0. */
  readonly priority?: number;
  readonly delayMs?: number;
  readonly expiresAt?: WallTime;
  /** Maximum time in `waiting`, counted anew each time the task enters it, backoff excluded. */
  readonly waitingMsMax?: number;
  readonly attemptTimeoutMs?: number;
  readonly attempts?: number;
  readonly failures?: number;
  /** The group with which it takes turns in its queue. */
  readonly group?: string;
  readonly key?: string;
  readonly fingerprint?: string;
  readonly replyTo?: ReplyTo;
  readonly envelope?: Uint8Array;
  /** Tasks that must end before it may start, each once. */
  readonly after?: readonly TaskId[];
  /** What happens to this task if one of those does not end `done`. Default: cancel. */
  readonly ifFailed?: IfFailed;
  /** The outcomes of those of `after` that the core no longer holds, as the door read them. */
  readonly pastOutcomes?: readonly PastOutcome[];
  readonly schedule?: string;
  readonly retryOf?: TaskId;
  /** Name of the principal that submits it, for the task's story. */
  readonly by?: string | undefined;
  /**
   * True if the client never repeats a refused submission. Such a task is accepted even while the
   * dispatcher is stopping, and runs after the next start.
   */
  readonly isAskedOnce?: boolean;
}

/** Settings of a queue to put in force. `null` resets one to the configuration. */
export type QueueSettingsPatch = {
  readonly [Name in keyof QueueSettings]?: NonNullable<QueueSettings[Name]> | null;
};

export interface WorkerProfile {
  readonly dialect: string;
  /** The worker's address, shown to operators. */
  readonly address: string;
  readonly queues: readonly string[];
  /** Maximum number of attempts that it may hold. Not used for a pulling worker. */
  readonly slots: number;
  /** Number of attempts that it runs at once. The others wait in the worker's own queue. */
  readonly runsAtOnce: number;
  /** True if it takes tasks only by claims (`work-claimed`), and only as many as it claims. */
  readonly pulls: boolean;
  /** True if it can be asked to return tasks that it has not begun. */
  readonly givesBack: boolean;
  /**
   * A full worker may get one more task that is more urgent than all it holds, because a task that
   * it runs may wait for that one. So it holds at most one task per priority beyond its slots.
   */
  readonly acceptsUrgentOverflow?: boolean;
  /**
   * For a worker with slots: each attempt has a lease of this length and is lost if no heartbeat
   * renews it. If absent, an attempt lasts as long as its worker is connected.
   */
  readonly leaseMs?: number;
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

/** Why an attempt was returned. A return costs no attempt. */
export type ReturnReason =
  | "busy"
  | "balance"
  | "undelivered"
  | "does_not_fit"
  | "drain"
  | "goodbye"
  | "stopping";

/**
 * The attempt that a worker's message is about. `attempt` is absent where the dialect names only
 * the task.
 */
export interface AttemptRef {
  readonly worker: WorkerId;
  readonly task: TaskId;
  readonly attempt: AttemptNumber | undefined;
  /**
   * True if the door has not delivered this task to this worker since the start. The message can
   * then only mean an attempt from before the restart.
   */
  readonly isOfBefore?: boolean;
  readonly request?: RequestId;
}

/** The tasks of one step of a bulk action. The door bounds their number. */
export type ActionWork =
  /** `state`: only those that are still in this state. */
  | { readonly type: "cancel"; readonly tasks: readonly TaskId[]; readonly state?: TaskStateName }
  /** The next `max` ready tasks of a queue. */
  | { readonly type: "purge"; readonly queue: string; readonly max: number }
  | { readonly type: "submit"; readonly submissions: readonly Submission[] }
  /** All of them, or none. */
  | {
      readonly type: "submit-graph";
      readonly items: readonly GraphItem[];
      readonly pastOutcomes: readonly PastOutcome[];
    };

export type YardEvent =
  /**
   * The door opened with a new incarnation; peers of an earlier one are gone. `forgets`: its
   * workers cannot say what they hold, so none resumes an attempt after our restart. `resumes`: its
   * workers are asked what they hold after our restart, so a clean stop leaves their attempts with
   * them.
   */
  | {
      readonly type: "door-opened";
      readonly incarnation: number;
      readonly forgets?: boolean;
      readonly resumes?: boolean;
    }
  // Clients
  | {
      readonly type: "task-submitted";
      readonly request?: RequestId;
      readonly submission: Submission;
      /** An id from `reserveTask`, if the payload was stored under it before. */
      readonly id?: TaskId;
      /**
       * Waits for the outcome too, as `task-watched` does. A refusal answers both requests.
       */
      readonly watch?: { readonly request: RequestId; readonly forMs: number };
    }
  /** Tasks that depend on each other. All are accepted, or none. */
  | {
      readonly type: "graph-submitted";
      readonly request: RequestId;
      readonly items: readonly GraphItem[];
      /** The outcomes of dependencies that the core no longer holds, of all items. */
      readonly pastOutcomes?: readonly PastOutcome[];
    }
  | {
      readonly type: "cancel-asked";
      readonly request?: RequestId;
      readonly task: TaskId;
      readonly by: string;
    }
  /** Finds the task with this key, for clients that know it by no other name. */
  | {
      readonly type: "task-sought";
      readonly request: RequestId;
      readonly queue: string;
      readonly key: string;
    }
  /**
   * A peer without the lease answered, in a dialect whose answers name no attempt. The first answer
   * counts.
   */
  | ({
      readonly type: "task-answered";
      readonly request?: RequestId;
      readonly task: TaskId;
      readonly by: string;
    } & ({ readonly result: Body } | { readonly error: TaskError }))
  /** A client waits for the outcome, for at most `forMs`. */
  | {
      readonly type: "task-watched";
      readonly request: RequestId;
      readonly task: TaskId;
      readonly forMs: number;
    }
  /** The client of this request (a watch or a claim) stopped waiting. */
  | { readonly type: "request-dropped"; readonly request: RequestId }
  | { readonly type: "outcomes-told"; readonly tasks: readonly TaskId[] }
  /**
   * `again`: retry later. Otherwise the client is gone, and the outcome stays readable with `told:
   * false`.
   */
  | { readonly type: "outcome-undelivered"; readonly task: TaskId; readonly again: boolean }
  // Workers
  | { readonly type: "worker-joined"; readonly worker: WorkerId; readonly profile: WorkerProfile }
  /**
   * The worker is alive. `queued` is the number of its attempts that it has not begun. `info` is
   * what it reports about itself, for people.
   */
  | {
      readonly type: "worker-beat";
      readonly worker: WorkerId;
      readonly queued?: number;
      readonly info?: Readonly<Record<string, unknown>>;
    }
  /** `message` is what the worker said went wrong, for the stories of the tasks it held. */
  | {
      readonly type: "worker-left";
      readonly worker: WorkerId;
      readonly reason: LossReason;
      readonly message?: string;
    }
  /**
   * The worker left in an orderly way: its tasks come back untried, and it does not count as lost.
   */
  | { readonly type: "worker-retired"; readonly request?: RequestId; readonly worker: WorkerId }
  | {
      readonly type: "work-claimed";
      readonly request: RequestId;
      readonly worker: WorkerId;
      readonly queue: string;
      readonly max: number;
      readonly forMs: number;
      /** Lease of each attempt. It expires unless the worker beats. */
      readonly leaseMs: number;
    }
  | ({ readonly type: "attempt-done"; readonly result: Body } & AttemptRef)
  /**
   * `asLoss`: the dialect wants another worker to try (pulse's TASK_FAILED), so it counts as a
   * loss. `result`: what the worker left besides the error, if the dialect allows more than words.
   */
  | ({
      readonly type: "attempt-failed";
      readonly error: TaskError;
      readonly asLoss?: boolean;
      readonly result?: Body;
    } & AttemptRef)
  | ({ readonly type: "attempt-lost"; readonly reason: LossReason } & AttemptRef)
  /**
   * The attempt comes back without counting as a try. `holdMs`: assign nothing to this worker for
   * this time, or until its next heartbeat.
   */
  | ({
      readonly type: "attempt-returned";
      readonly reason: ReturnReason;
      readonly holdMs?: number;
    } & AttemptRef)
  /** The worker confirms that it holds this attempt. `leaseMs` renews its lease. */
  | ({
      readonly type: "attempt-beat";
      readonly leaseMs?: number;
      /** How far the worker is. Replaces what it said before. */
      readonly report?: Omit<TaskReport, "at">;
    } & AttemptRef)
  /** A door writes a memo, a named record that it gets back after a restart. */
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
      /** Who gave the order, for people. */
      readonly by?: string;
      /** The operator's host. New queues are counted by host. */
      readonly host?: string | undefined;
      /**
       * Refuse with `not_found` instead of creating the queue. Otherwise a typo would pause a queue
       * that no client uses.
       */
      readonly mustExist?: boolean;
    }
  /**
   * A step of a bulk action: act on the given tasks, add what came of it to the record, and commit
   * both together. `action` is the record as it is after the step, its counts aside.
   */
  | {
      readonly type: "action-stepped";
      readonly request?: RequestId;
      readonly action: ActionRecord;
      /** Absent where only the record changes: at the beginning and at the end. */
      readonly work?: ActionWork;
    }
  /** `mustExist`: as for an order. */
  | {
      readonly type: "queue-settings-given";
      readonly request?: RequestId;
      readonly queue: string;
      readonly settings: QueueSettingsPatch;
      readonly mustExist?: boolean;
    }
  // Schedules
  | {
      readonly type: "schedule-put";
      readonly request?: RequestId;
      readonly name: string;
      readonly settings: ScheduleSettings;
    }
  | { readonly type: "schedule-dropped"; readonly request?: RequestId; readonly name: string }
  | {
      readonly type: "schedule-ordered";
      readonly request?: RequestId;
      readonly name: string;
      readonly order: "pause" | "resume" | "run-now";
    }
  /**
   * The store has no room for new tasks, for the given reason; undefined: it has room again.
   * Everything else goes on.
   */
  | { readonly type: "store-room-changed"; readonly shortage: string | undefined }
  /** The process is short of memory, or no longer is. While it is, new tasks are refused. */
  | { readonly type: "memory-noted"; readonly isShort: boolean }
  /** The dispatcher is stopping: it accepts and gives out nothing new. */
  | { readonly type: "yard-closing" }
  /**
   * The time for running attempts is over: those still running come back without costing an
   * attempt.
   */
  | { readonly type: "yard-closed" };
