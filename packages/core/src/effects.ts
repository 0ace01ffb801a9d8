// Actions that the core requests, in the imperative, each addressed to one door. Every effect waits
// for the commit of its step, except an assignment of a task that is already committed.

import type { ActionRecord } from "./action-record.js";
import type { LossReason } from "./attempt-events.js";
import type { AttemptNumber, RequestId, TaskId, WorkerId } from "./names.js";
import type { Body, FinishedStateName, TaskError, TaskHead } from "./records.js";
import type { Submission } from "./submission.js";

export interface Outcome {
  readonly state: FinishedStateName;
  readonly result: Body | undefined;
  readonly error: TaskError | undefined;
}

/**
 * Why a request was refused. The codes are those of the http door; other doors use their dialect's
 * own word.
 */
export type RefusalCode =
  | "not_found"
  | "wrong_state"
  | "key_conflict"
  | "stale_attempt"
  | "payload_too_large"
  | "queue_full"
  | "bad_request"
  | "not_ready"
  | "unknown_dependency"
  | "dependency_cycle"
  | "read_only";

export type RequestAnswer =
  /** Accepted and committed. `existing`: an earlier submission with the same key was accepted. */
  | { readonly type: "accepted"; readonly task: TaskId; readonly existing: boolean }
  | {
      readonly type: "refused";
      readonly code: RefusalCode;
      readonly message: string;
      readonly task?: TaskId;
      /** Index of the item of a graph that is the reason. */
      readonly item?: number;
    }
  /** A whole graph is accepted and committed; its tasks in the order of its items. */
  | {
      readonly type: "graph-accepted";
      readonly tasks: readonly { readonly task: TaskId; readonly existing: boolean }[];
    }
  /** The order was carried out. `task`: the task that it was about, if any. */
  | { readonly type: "granted"; readonly task?: TaskId }
  /** A step of a bulk action was carried out. `isMore`: a purge would find more in the same way. */
  | { readonly type: "acted"; readonly action: ActionRecord; readonly isMore: boolean }
  /** The watched task has finished, or the wait is over. */
  | {
      readonly type: "watched";
      readonly task: TaskId;
      readonly finished: boolean;
      /** Present when the task finished while it was watched: nothing has to be read then. */
      readonly outcome?: Outcome;
    }
  /** The claim ended without a task. */
  | { readonly type: "no-work" }
  /**
   * The answer to a beat: the lease's remaining time (0 means no lease), and whether to stop the
   * work.
   */
  | { readonly type: "beat"; readonly leaseMs: number; readonly cancel: boolean };

/** `answered`: a peer that did not hold the lease answered the task. */
export type RevokeReason = "cancelled" | "answered" | LossReason;

export type Effect =
  | {
      readonly type: "assign";
      readonly door: string;
      readonly worker: WorkerId;
      readonly task: TaskHead;
      readonly attempt: AttemptNumber;
      /** Duration of the lease; 0 where it lasts as long as the worker does. */
      readonly leaseMs: number;
      /** The claim that this answers. It is an API answer, so it waits for the commit. */
      readonly request: RequestId | undefined;
      /**
       * True if the worker must not have it before the assignment is committed: after a crash, a
       * limit counts what the record says.
       */
      readonly waitsForCommit?: boolean;
    }
  /**
   * The lease was revoked: tell the worker to stop if the dialect can. The slot stays taken until
   * the worker answers.
   */
  | {
      readonly type: "revoke";
      readonly door: string;
      readonly worker: WorkerId;
      readonly task: TaskId;
      readonly attempt: AttemptNumber;
      readonly reason: RevokeReason;
    }
  /** Ask for these tasks back unless they have begun. Other workers would start them now. */
  | {
      readonly type: "recall";
      readonly door: string;
      readonly worker: WorkerId;
      readonly attempts: readonly { readonly task: TaskId; readonly attempt: AttemptNumber }[];
    }
  | { readonly type: "tell"; readonly door: string; readonly task: TaskHead; readonly outcome: Outcome }
  | {
      readonly type: "reply";
      readonly door: string;
      readonly request: RequestId;
      readonly answer: RequestAnswer;
    }
  /**
   * Refuses a submission that has a reply-to and no request number. The refusal goes to the
   * reply-to.
   */
  | {
      readonly type: "refuse";
      readonly door: string;
      readonly submission: Submission;
      readonly code: RefusalCode;
      readonly message: string;
    }
  /** The worker is rejected because a limit was reached. */
  | { readonly type: "dismiss"; readonly door: string; readonly worker: WorkerId; readonly message: string }
  /** A draining worker no longer holds anything. */
  | { readonly type: "drained"; readonly door: string; readonly worker: WorkerId };
