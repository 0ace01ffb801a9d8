// What the core wants done, in the imperative, each addressed to one door. All but an assignment of a committed task
// wait for the commit of the step that made them.

import type { LossReason, Submission } from "./events.js";
import type { AttemptNumber, RequestId, TaskId, WorkerId } from "./names.js";
import type { Body, FinishedStateName, TaskError, TaskHead } from "./records.js";

export interface Outcome {
  readonly state: FinishedStateName;
  readonly result: Body | undefined;
  readonly error: TaskError | undefined;
}

/** Why a request was not granted. The codes are those of the http door; other doors use their dialect's own word. */
export type RefusalCode =
  | "not_found"
  | "wrong_state"
  | "key_conflict"
  | "stale_attempt"
  | "payload_too_large"
  | "queue_full"
  | "bad_request"
  | "not_ready";

export type Answer =
  /** Accepted and committed. `existing`: it had been before, under the same key. */
  | { readonly type: "accepted"; readonly task: TaskId; readonly existing: boolean }
  | { readonly type: "refused"; readonly code: RefusalCode; readonly message: string; readonly task?: TaskId }
  /** The order was carried out, on this task where it was about one. */
  | { readonly type: "granted"; readonly task?: TaskId }
  /** A watched task: finished, or the wait is over. */
  | { readonly type: "watched"; readonly task: TaskId; readonly finished: boolean }
  /** The answer to a wish for work that found none in its time. */
  | { readonly type: "no-work" }
  /** The answer to a beat: how long the lease lasts from now (0: no lease), and whether to give up the work. */
  | { readonly type: "beat"; readonly leaseMs: number; readonly cancel: boolean };

/** `answered`: by somebody who did not hold it. */
export type RevokeReason = "cancelled" | "answered" | LossReason;

export type Effect =
  | {
      readonly type: "assign";
      readonly door: string;
      readonly worker: WorkerId;
      readonly task: TaskHead;
      readonly attempt: AttemptNumber;
      /** The lease, where it is limited; 0 where it lasts as long as the worker does. */
      readonly leaseMs: number;
      /** The wish for work that this answers: it is an API answer, so it waits for the commit. */
      readonly request: RequestId | undefined;
    }
  /** The lease was lifted: stop if the dialect has a way to say so. The slot stays taken until the worker answers. */
  | {
      readonly type: "revoke";
      readonly door: string;
      readonly worker: WorkerId;
      readonly task: TaskId;
      readonly attempt: AttemptNumber;
      readonly reason: RevokeReason;
    }
  /** Take these back if they have not begun; others would start them now. */
  | {
      readonly type: "recall";
      readonly door: string;
      readonly worker: WorkerId;
      readonly attempts: readonly { readonly task: TaskId; readonly attempt: AttemptNumber }[];
    }
  | { readonly type: "tell"; readonly door: string; readonly task: TaskHead; readonly outcome: Outcome }
  | { readonly type: "reply"; readonly door: string; readonly request: RequestId; readonly answer: Answer }
  /** A submission with a reply-to and no request number was not accepted: its asker is told there. */
  | {
      readonly type: "refuse";
      readonly door: string;
      readonly submission: Submission;
      readonly code: RefusalCode;
      readonly message: string;
    }
  /** The core does not want this worker: a limit was reached. */
  | { readonly type: "dismiss"; readonly door: string; readonly worker: WorkerId; readonly message: string }
  /** A draining worker holds nothing any more. */
  | { readonly type: "drained"; readonly door: string; readonly worker: WorkerId };
