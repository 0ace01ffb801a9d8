// What the core says of itself to people: workers, queues, and why a task waits. Plain values, made on request.

import type { WorkerId } from "./names.js";
import type { WallTime } from "./time.js";

export type WhyCode =
  | "no_worker"
  | "all_busy"
  | "delayed"
  | "paused"
  | "backoff"
  | "draining"
  | "recovering"
  | "does_not_fit";

export interface Why {
  readonly code: WhyCode;
  readonly message: string;
  /** When the reason ends by itself, where that is known. */
  readonly until: WallTime | undefined;
}

export interface WorkerView {
  readonly id: WorkerId;
  readonly door: string;
  readonly dialect: string;
  readonly address: string;
  readonly queues: readonly string[];
  readonly slots: number;
  readonly running: number;
  readonly state: "idle" | "busy" | "draining" | "lost";
  readonly joinedAt: WallTime;
  readonly lastSeenAt: WallTime;
  readonly lostReason: string | undefined;
  readonly info: Readonly<Record<string, unknown>> | undefined;
}

export interface QueueView {
  readonly name: string;
  /** The name under which metrics count it: its own, or one for all queues beyond the first. */
  readonly label: string;
  readonly waiting: number;
  readonly waitingBytes: number;
  readonly running: number;
  /** When the oldest task that could start now was handed in. */
  readonly oldestAt: WallTime | undefined;
  readonly workers: number;
  readonly paused: boolean;
  readonly draining: boolean;
  /** How many wait for which reason. */
  readonly waitingBy: Readonly<Partial<Record<WhyCode, number>>>;
}
