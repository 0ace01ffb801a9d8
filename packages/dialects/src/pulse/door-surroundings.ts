// What one worker's session at the controller is given, and what it wants done: events for the core, questions for the worker.

import type { Answer, WorkerId, YardEvent } from "@yardmaster/core";
import type { ControlWord, Numbering } from "./messages.js";

/** Something to ask of a worker, on a connection of its own. */
export interface ControlRequest {
  readonly type: ControlWord;
  readonly taskId?: bigint;
  readonly extra: Buffer;
  /** The worker's socket may not be there yet: try again for a while. */
  readonly isBooting: boolean;
}

/** How an exchange ended without an answer. `unreachable`: nobody was there, so nothing was said. */
export type Breakage = "unreachable" | "broken" | "silent";

export interface DoorWorkerHost {
  post(event: YardEvent): void;
  /** Ended by `answered` or `broken`, unless the worker is gone by then. */
  control(request: ControlRequest): void;
  /** The number of a request whose answer is to come here. */
  ask(then: (answer: Answer) => void): number;
  /** [pulse 4.6] Whether a task of this number was ever given to a worker of the dialect. */
  wasGivenOut(task: bigint): boolean;
  /** It said something that counts for nothing. */
  fault(kind: "stale_answer" | "task_mismatch" | "worker_failed" | "always_busy"): void;
  /** It is no longer among the living. */
  gone(): void;
}

export interface DoorWorkerOptions {
  readonly id: bigint;
  readonly name: WorkerId;
  readonly address: string;
  readonly queue: string;
  readonly numbering: Numbering;
}
