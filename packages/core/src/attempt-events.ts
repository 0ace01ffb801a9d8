// What workers report about their attempts.

import type { AttemptNumber, RequestId, TaskId, WorkerId } from "./names.js";
import type { Body, TaskError, TaskReport } from "./records.js";

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

export type AttemptEvent =
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
    } & AttemptRef);
