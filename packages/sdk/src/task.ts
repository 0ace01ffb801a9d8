// Tasks, queues and workers as the http door shows them.

import type { EndState } from "./errors.js";

/** Where a task stands. */
export type TaskState = "waiting" | "running" | EndState;

/** A task as the dispatcher shows it. Times are RFC 3339. */
export interface Task {
  readonly id: string;
  readonly queue: string;
  readonly state: TaskState;
  readonly priority: number;
  readonly key: string | null;
  readonly group: string | null;
  readonly door: string;
  readonly replyTo: string | null;
  readonly submittedAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly attempt: number | null;
  readonly worker: string | null;
  readonly contentType: string;
  readonly payloadBytes: number;
  readonly resultBytes: number | null;
  readonly error: TaskError | null;
  readonly why: { readonly code: string; readonly message: string; readonly until?: string } | null;
  readonly told: boolean;
  /** Lost attempts and reported failures so far, and how many of each end it as failed. */
  readonly losses: number;
  readonly lossesMax: number;
  readonly failures: number;
  readonly failuresMax: number;
  /** The task that this one retries. */
  readonly retries: string | null;
  readonly story: readonly StoryLine[];
  /** The tasks that had to end before it could start; absent when there are none. */
  readonly after?: readonly string[];
  readonly ifFailed?: "cancel" | "run";
  /** Unfinished tasks that depend on it, at most 1,000; only present when one task is requested. */
  readonly dependents?: readonly string[];
  /** The schedule that submitted it. */
  readonly schedule?: string;
  /** The last report of its last attempt; absent when it made none. */
  readonly progress?: TaskProgress;
}

/** Why a task ended without a result. */
export interface TaskError {
  readonly code: string;
  readonly message: string;
  /** For example a stack trace. Present only if a single task is requested. */
  readonly detail?: string;
}

/** What a worker last reported on a task. */
export interface TaskProgress {
  /**
   * A number from 0 to 1, or other JSON that the worker reported; null if it left only a message.
   */
  readonly value: unknown;
  readonly message: string | null;
  readonly at: string;
}

/** One thing that happened to a task. */
export interface StoryLine {
  readonly at: string;
  readonly to: TaskState;
  readonly cause: string;
  readonly attempt?: number;
  readonly worker?: string;
}

/** A queue in figures. */
export interface Queue {
  readonly name: string;
  readonly waiting: number;
  readonly running: number;
  readonly paused: boolean;
  readonly draining: boolean;
  /** Waiting tasks by the code of why they wait. */
  readonly waitingBy: Readonly<Record<string, number>>;
  readonly waitingBytes: number;
  /** When the oldest task that could start now was submitted. */
  readonly oldestAt: string | null;
  readonly oldestTask: string | null;
  readonly workers: number;
  readonly workersBy: Readonly<Record<string, number>>;
  /** Tasks per second: means of 10 s and of 60 s. */
  readonly inPerSecond: readonly [number, number];
  readonly donePerSecond: readonly [number, number];
  readonly failedPerSecond: readonly [number, number];
  /** Tasks per second over 60 s, by door in and by door of the worker. */
  readonly inBy: Readonly<Record<string, number>>;
  readonly doneBy: Readonly<Record<string, number>>;
  readonly pausedAt: string | null;
  readonly pausedBy: string | null;
  readonly refusedAt: string | null;
  readonly maxWaiting: number;
  /** Tasks that could start wait because of a limit of the queue. */
  readonly limited: boolean;
}

/** A token bucket: `tasks` may start at once, and as many again in each `perSeconds`, evenly. */
export interface Rate {
  readonly tasks: number;
  readonly perSeconds: number;
}

/** Delays between the tries of a task. */
export interface Backoff {
  readonly firstSeconds: number;
  readonly factor: number;
  readonly maxSeconds: number;
  readonly jitter: number;
}

/** How long finished tasks are kept: whichever limit is reached first. */
export interface Retention {
  readonly bytes: number;
  readonly ageSeconds: number;
  readonly count: number;
}

interface QueueLimits {
  readonly attemptTimeoutSeconds: number;
  readonly attempts: number;
  readonly failures: number;
  readonly maxWaiting: number;
  readonly maxBytes: number;
  readonly maxRunning: number;
  readonly maxRunningPerGroup: number;
  readonly rate: Rate;
  readonly backoff: Backoff;
  readonly retention: Retention;
}

/** Settings to change. `null` resets one to the configuration file or the default. */
export type QueueSettings = {
  readonly [Name in keyof QueueLimits]?:
    | (Name extends "backoff" | "retention" ? Partial<QueueLimits[Name]> : QueueLimits[Name])
    | null;
};

/**
 * A value in force, and where it comes from. `null`: there is no limit; of `retention`, that the
 * queue shares the common history.
 */
export interface QueueSetting<Value> {
  readonly value: Value | null;
  readonly from: "api" | "file" | "default";
}

/** A queue with its settings. */
export interface QueueDetail extends Queue {
  /** Groups with tasks that have not ended. */
  readonly groups: number;
  readonly settings: { readonly [Name in keyof QueueLimits]: QueueSetting<QueueLimits[Name]> };
}

/** A worker as the dispatcher sees it. */
export interface WorkerView {
  readonly id: string;
  readonly door: string;
  readonly dialect: string;
  readonly address: string;
  readonly queues: readonly string[];
  readonly slots: number;
  readonly running: number;
  readonly state: "idle" | "busy" | "draining" | "lost";
  readonly joinedAt: string;
  readonly lastSeenAt: string;
  readonly lostReason: string | null;
  readonly lostAt: string | null;
  /** It has no slots: it takes as much as it asks for. */
  readonly pulls: boolean;
  /** How long it may be silent, in milliseconds; null while it owes no sign of life. */
  readonly limitMs: number | null;
  readonly silentAt: string | null;
  /** Attempts that it finished, and those that it reported as failed, since it joined. */
  readonly done: number;
  readonly failed: number;
  readonly donePerMinute: number;
  /** What it reports about itself; depends on the dialect. */
  readonly info?: Readonly<Record<string, unknown>> | null;
}

/** The addresses of each open door, by setting. */
export type DoorAddresses = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A filter for tasks. All conditions must hold. */
export interface TaskQuery {
  readonly queue?: string;
  readonly state?: TaskState;
  readonly door?: string;
  readonly worker?: string;
  /** RFC 3339. */
  readonly since?: string;
  readonly until?: string;
  /** An id, a key or an error code; or words of an error's message, or beginnings of them. */
  readonly q?: string;
}

/** True for the states in which a task stays. */
export function hasEnded(state: TaskState): state is EndState {
  return state !== "waiting" && state !== "running";
}
