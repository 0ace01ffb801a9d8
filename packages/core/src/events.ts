// Events that doors post to the core, in the past tense. Every event is a plain value, so it can
// come from another process. An event that makes no sense is counted and refused, never thrown.

import type { ActionRecord, ActionWork } from "./action-record.js";
import type { AttemptEvent } from "./attempt-events.js";
import type { QueueSettings } from "./limits.js";
import type { RequestId, TaskId, WorkerId } from "./names.js";
import type { Body, TaskError } from "./records.js";
import type { ScheduleSettings } from "./schedule.js";
import type { GraphItem, PastOutcome, Submission } from "./submission.js";
import type { WorkerEvent } from "./worker-events.js";

/**
 * An event with its number within the door: 1, 2, 3, … A repeated number is dropped. A gap means
 * that peers were lost.
 */
export interface Post {
  readonly door: string;
  readonly number: number;
  readonly event: YardEvent;
}

/** Settings of a queue to put in force. `null` resets one to the configuration. */
export type QueueSettingsPatch = {
  readonly [Name in keyof QueueSettings]?: NonNullable<QueueSettings[Name]> | null;
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
  | WorkerEvent
  | AttemptEvent
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
   * A step of a bulk action: act on the given tasks, add the outcome to the action's record, and
   * commit both together. `action` is the record after the step, except for its counts.
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
