// Schedules of a dispatcher: tasks that it submits by itself at set times. Only the http door has
// them.

import type { Bodylike } from "./body.js";

/** Options of a schedule. Exactly one of `cron` and `everyMs` is needed. */
export interface ScheduleOptions {
  readonly queue: string;
  /** The payload of each of its tasks. */
  readonly payload?: Bodylike;
  /** Overrides the media type that follows from the payload. */
  readonly contentType?: string;
  /** Five fields, or six with seconds first. */
  readonly cron?: string;
  /** An IANA time zone for `cron`; UTC if absent. */
  readonly timezone?: string;
  readonly everyMs?: number;
  /**
   * If the last task has not finished when the next is due: skip the run (`skip`, the default), or
   * submit another task.
   */
  readonly overlap?: "skip" | "queue";
  /** After times that passed while the dispatcher was down: one run (the default), or none. */
  readonly catchUp?: "none" | "one";
  readonly start?: Date;
  readonly end?: Date;
  /** Each run is delayed by a random time up to this. */
  readonly jitterMs?: number;
  readonly priority?: number;
  /** The group with which its tasks take turns in their queue. */
  readonly group?: string;
  readonly attempts?: number;
  readonly failures?: number;
  readonly timeoutMs?: number;
  readonly expiresMs?: number;
}

/** A schedule as the dispatcher shows it. Times are RFC 3339. */
export interface Schedule {
  readonly name: string;
  readonly queue: string;
  readonly cron: string | null;
  readonly timezone: string | null;
  readonly everyMs: number | null;
  readonly overlap: "skip" | "queue";
  readonly catchUp: "none" | "one";
  readonly start: string | null;
  readonly end: string | null;
  readonly jitterMs: number;
  readonly priority: number;
  readonly group: string | null;
  /** Null for those of the queue. */
  readonly attempts: number | null;
  readonly failures: number | null;
  readonly timeoutMs: number | null;
  readonly expiresMs: number | null;
  readonly contentType: string;
  readonly payloadBytes: number;
  /** `config`: it is in the configuration file and cannot be changed here. */
  readonly origin: "api" | "config";
  readonly paused: boolean;
  /** The next ten, in a list only the next one; none while it is paused. */
  readonly nextTimes: readonly string[];
  readonly lastRunAt: string | null;
  readonly lastTask: string | null;
  readonly lastSkippedAt: string | null;
  /** Why the run that is due could not be submitted; it is tried again. */
  readonly trouble: string | null;
}

/** Operations on schedules. */
export interface Schedules {
  list(): Promise<readonly Schedule[]>;
  get(name: string): Promise<Schedule>;
  /** Creates or replaces it. Rejects with `read_only` for one of the configuration file. */
  put(name: string, options: ScheduleOptions): Promise<Schedule>;
  /** Tasks that it has made stay. */
  delete(name: string): Promise<void>;
  pause(name: string): Promise<Schedule>;
  resume(name: string): Promise<Schedule>;
  /** Submits one task now and resolves with its id. */
  runNow(name: string): Promise<string>;
}
