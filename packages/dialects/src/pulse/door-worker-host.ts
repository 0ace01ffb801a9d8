// The environment of a worker's session at the controller: its inputs, and the actions it requests
// (events for the core, requests to the worker).

import type { RequestAnswer, WorkerId, YardEvent } from "@yardmaster/core";
import type { ControlWord, Numbering } from "./messages.js";

/** A request to a worker, on a connection of its own. */
export interface ControlRequest {
  readonly type: ControlWord;
  readonly taskId?: bigint;
  readonly extra: Buffer;
  /** The worker's socket may not exist yet: retry for a while. */
  readonly isBooting: boolean;
}

/**
 * How an exchange ended without an answer. `unreachable`: there was no listener, so nothing was
 * sent.
 */
export type Breakage = "unreachable" | "broken" | "silent";

export interface DoorWorkerHost {
  post(event: YardEvent): void;
  /** Ends with `answered` or `broken`, unless the worker is gone by then. */
  control(request: ControlRequest): void;
  /** Returns the number of a request whose answer goes to `then`. */
  ask(then: (answer: RequestAnswer) => void): number;
  /** [pulse 4.6] True if a task of this number was ever given to a worker of the dialect. */
  wasGivenOut(task: bigint): boolean;
  /** The worker sent a message without effect. */
  fault(kind: "stale_answer" | "task_mismatch" | "worker_failed" | "always_busy"): void;
  /** The worker is no longer among the living. */
  gone(): void;
}

export interface DoorWorkerOptions {
  readonly id: bigint;
  readonly name: WorkerId;
  readonly address: string;
  readonly queue: string;
  readonly numbering: Numbering;
}
