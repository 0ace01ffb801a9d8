// What the dispatcher shows of its tasks, queues and workers, as the http door writes it.

import type { EndState } from "./errors.js";

export type TaskState = "waiting" | "running" | EndState;

export interface Task {
  readonly id: string;
  readonly queue: string;
  readonly state: TaskState;
  readonly priority: number;
  readonly key: string | null;
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
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly why: { readonly code: string; readonly message: string; readonly until?: string } | null;
  readonly told: boolean;
  readonly story: readonly StoryLine[];
}

export interface StoryLine {
  readonly at: string;
  readonly to: string;
  readonly cause: string;
  readonly attempt?: number;
  readonly worker?: string;
}

export interface Queue {
  readonly name: string;
  readonly waiting: number;
  readonly running: number;
  readonly paused: boolean;
  readonly draining: boolean;
}

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
  /** What it says of itself; each dialect has its own. */
  readonly info?: Readonly<Record<string, unknown>> | null;
}

export type DoorAddresses = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface TaskQuery {
  readonly queue?: string;
  readonly state?: TaskState;
  readonly door?: string;
  readonly worker?: string;
  /** RFC 3339. */
  readonly since?: string;
  readonly until?: string;
  /** Text to look for. */
  readonly q?: string;
}

export function hasEnded(state: TaskState): state is EndState {
  return state !== "waiting" && state !== "running";
}
