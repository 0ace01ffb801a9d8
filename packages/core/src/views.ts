// Views of the core for people: workers, queues, and why a task waits. Plain values, made on
// request.

import type { QueueSettings } from "./limits.js";
import type { TaskId, WorkerId } from "./names.js";
import type { QueueTally } from "./queue-tally.js";
import type { WallTime } from "./time.js";

export type WhyCode =
  | "no_worker"
  | "all_busy"
  | "delayed"
  | "paused"
  | "backoff"
  | "draining"
  | "recovering"
  | "blocked"
  | "does_not_fit"
  | "limited";

export interface Why {
  readonly code: WhyCode;
  readonly message: string;
  /** When the reason ends by itself, if that is known. */
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
  readonly lostAt: WallTime | undefined;
  /** It has no slots: it takes as much as it asks for. */
  readonly pulls: boolean;
  /** Attempts that it finished since it joined, and those that it reported as failed. */
  readonly done: number;
  readonly failed: number;
  /** Attempts that it finished in the last minute. */
  readonly donePerMinute: number;
  readonly info: Readonly<Record<string, unknown>> | undefined;
}

export interface QueueView {
  readonly name: string;
  /** The label under which metrics count it: its own name, or the one that later queues share. */
  readonly label: string;
  readonly waiting: number;
  readonly waitingBytes: number;
  readonly running: number;
  /** Number of finished tasks that are kept because others depend on them. */
  readonly depended: number;
  /** When the oldest ready task was submitted. */
  readonly oldestAt: WallTime | undefined;
  readonly oldestTask: TaskId | undefined;
  readonly workers: number;
  /** The same by door. */
  readonly workersBy: Readonly<Record<string, number>>;
  /** How many of them said that they take nothing, and hold nothing. */
  readonly unavailable: number;
  readonly paused: boolean;
  readonly draining: boolean;
  /** Number of waiting tasks by reason. */
  readonly waitingBy: Readonly<Partial<Record<WhyCode, number>>>;
  /** Tasks a second: means of the last 10 s and of the last 60 s. */
  readonly inPerSecond: readonly [short: number, long: number];
  readonly donePerSecond: readonly [short: number, long: number];
  readonly failedPerSecond: readonly [short: number, long: number];
  /** Tasks a second over the last minute, by the door they came in by. */
  readonly inBy: Readonly<Record<string, number>>;
  /** Likewise, by the door of the worker that finished them. */
  readonly doneBy: Readonly<Record<string, number>>;
  /** Who paused it and when; unknown for a pause from before a restart. */
  readonly pausedAt: WallTime | undefined;
  readonly pausedBy: string | undefined;
  /**
   * When it last refused a task because it was full, and since when it has refused tasks
   * repeatedly.
   */
  readonly refusedAt: WallTime | undefined;
  readonly refusingSince: WallTime | undefined;
  readonly maxWaiting: number;
  /** Number of groups with a task that has not ended. */
  readonly groups: number;
  /** The settings in force. */
  readonly settings: QueueSettings;
  /** The settings that were given at run time and override the configuration. */
  readonly overridden: readonly (keyof QueueSettings)[];
}

/** Facts about a live task that are not in its record. */
export interface TaskOutlook {
  /**
   * Number of tasks of its queue before it; undefined if it is not ready, or there are too many to
   * count.
   */
  readonly ahead: number | undefined;
  /** While it runs: when its lease is over unless the worker beats, and when its time limit is. */
  readonly leaseUntil: WallTime | undefined;
  readonly limitAt: WallTime | undefined;
}

/**
 * The counts of a queue. Cheaper than a view, because the history reads all queues every second.
 */
export interface QueueCounts {
  readonly name: string;
  readonly waiting: number;
  readonly running: number;
  readonly oldestAt: WallTime | undefined;
  readonly oldestTask: TaskId | undefined;
  readonly tally: QueueTally;
}
