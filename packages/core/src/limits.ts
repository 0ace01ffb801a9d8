// Every limit of the core, with its name, default and consequence. Reaching one is counted by name.

import type { NextCron, ScheduleSettings } from "./schedule.js";

export interface Limits {
  /** Size of a payload. A larger one is refused with `payload_too_large`. */
  readonly payloadBytes: number;
  /** Workers over all doors. Another one is dismissed. */
  readonly workers: number;
  /**
   * Workers of one door. Another one is dismissed. Lower than `workers`, so that one door's peers
   * cannot lock out another's.
   */
  readonly workersPerDoor: number;
  /**
   * Workers of one host at one door that always get a place. Beyond that, a host gets half of what
   * others leave.
   */
  readonly workersPerHost: number;
  /** Queues that peers created by naming them. Another one is refused with `queue_full`. */
  readonly queues: number;
  /** Queues that the peers of one door created. Another one is refused with `queue_full`. */
  readonly queuesPerDoor: number;
  /**
   * Queues that one host may always create at one door. Beyond it, a host gets at most half of what
   * other hosts leave.
   */
  readonly queuesPerHost: number;
  /** Queues that one worker may serve. Further ones in its list are ignored. */
  readonly queuesPerWorker: number;
  /** Attempts that one worker may hold, even if it asks for more. */
  readonly slotsPerWorker: number;
  /** Keys of finished tasks. Beyond it the oldest is forgotten early. */
  readonly finishedKeys: number;
  /**
   * Finished tasks of one door with an undelivered outcome. Beyond it the oldest is settled
   * undelivered.
   */
  readonly untold: number;
  /**
   * Finished tasks kept in memory because a lost attempt may still answer. Beyond it the oldest
   * leaves early.
   */
  readonly lingering: number;
  /** Dependencies of one task. A task with more is refused with `bad_request`. */
  readonly dependencies: number;
  /**
   * Finished tasks kept in the core, safe from retention, because a task that depends on them has
   * not ended. Beyond it the oldest is settled early.
   */
  readonly dependedOn: number;
  /** Entries of a task's story. Beyond it the oldest are dropped. */
  readonly storyLength: number;
  /** Lost workers that are still listed. */
  readonly lostWorkers: number;
  /**
   * Waiting requests (watches and claims) of one door. Another one is refused with `queue_full`.
   */
  readonly waitingRequests: number;
  /**
   * Open claims of one worker. Another one is refused with `queue_full`. The cost of each event of
   * a worker grows with its open claims.
   */
  readonly claimsPerWorker: number;
  /** Number of schedules. Another one is refused with `queue_full`. */
  readonly schedules: number;
  /** Size of a schedule's payload. A larger one is refused with `payload_too_large`. */
  readonly schedulePayloadBytes: number;
  /** Length of an idempotency key, in characters. */
  readonly keyLength: number;
  /** Length of a group's key, in characters. */
  readonly groupLength: number;
  /** Length of an error message from a peer, in characters. The rest is cut off. */
  readonly messageLength: number;
}

/** Limits that are counted too, and are set elsewhere. */
const otherLimits = [
  "queueLength",
  "queueBytes",
  "diskRoom",
  "memoryBytes",
  "reportLength",
  "histories",
] as const;

export type LimitName = keyof Limits | (typeof otherLimits)[number];

export const defaultLimits: Limits = {
  payloadBytes: 268_435_456,
  workers: 100_000,
  workersPerDoor: 50_000,
  // Ten thousand workers on one machine, or behind one proxy, are not an attack.
  workersPerHost: 10_000,
  queues: 10_000,
  queuesPerDoor: 5_000,
  // More than people name by hand; five hosts that invent names fit into the total.
  queuesPerHost: 1_000,
  queuesPerWorker: 64,
  slotsPerWorker: 65_536,
  finishedKeys: 1_000_000,
  untold: 100_000,
  lingering: 10_000,
  dependencies: 1000,
  dependedOn: 100_000,
  storyLength: 32,
  lostWorkers: 100,
  waitingRequests: 100_000,
  claimsPerWorker: 1000,
  schedules: 10_000,
  // A schedule's record is written at each of its times.
  schedulePayloadBytes: 65_536,
  keyLength: 512,
  groupLength: 256,
  messageLength: 1024,
};

export const limitNames: readonly LimitName[] = [
  ...(Object.keys(defaultLimits) as (keyof Limits)[]),
  ...otherLimits,
];

/** A token bucket: `tasks` may start at once, and the tokens come back evenly over `perMs`. */
export interface Rate {
  readonly tasks: number;
  readonly perMs: number;
}

/** Delays before the retries of a task. */
export interface Backoff {
  /** Number of retries that follow at once. */
  readonly atOnce: number;
  /** The first delay. Each further one is `factor` times as long, up to `maxMs`. */
  readonly firstMs: number;
  readonly factor: number;
  readonly maxMs: number;
  /** A delay is drawn between 1 - jitter and 1 + jitter times its length. */
  readonly jitter: number;
}

/** Settings of one queue. */
export interface QueueSettings {
  /** Time limit of an attempt; 0 means none. */
  readonly attemptTimeoutMs: number;
  readonly attempts: number;
  readonly failures: number;
  /** Number of waiting tasks. Another one is refused with `queue_full`. */
  readonly maxWaiting: number;
  /** Total bytes of waiting payloads. A task beyond it is refused with `queue_full`. */
  readonly maxBytes: number;
  /** Number of running tasks. Further ones wait. Infinity means unlimited. */
  readonly maxRunning: number;
  /** Number of running tasks of each group. Infinity means unlimited. */
  readonly maxRunningPerGroup: number;
  /** Limit on task starts per time; undefined means unlimited. */
  readonly rate: Rate | undefined;
  readonly backoff: Backoff;
  /** How long its finished tasks are kept. Undefined: they share the common history. */
  readonly retention: Retention | undefined;
}

/**
 * The first retry follows at once, because most losses are one worker's accident. The jitter
 * spreads out later retries.
 */
export const defaultBackoff: Backoff = { atOnce: 1, firstMs: 1_000, factor: 2, maxMs: 60_000, jitter: 0.2 };

export const defaultQueueSettings: QueueSettings = {
  attemptTimeoutMs: 0,
  attempts: 5,
  failures: 1,
  maxWaiting: 1_000_000,
  maxBytes: 1_073_741_824,
  maxRunning: Number.POSITIVE_INFINITY,
  maxRunningPerGroup: Number.POSITIVE_INFINITY,
  rate: undefined,
  backoff: defaultBackoff,
  retention: undefined,
};

export interface Retention {
  readonly bytes: number;
  readonly ageMs: number;
  readonly count: number;
}

export interface CoreOptions {
  readonly limits: Limits;
  /** By name. A map, because peers may use names such as `constructor` that every object has. */
  readonly queues: ReadonlyMap<string, QueueSettings>;
  /** For every queue without settings of its own. */
  readonly queueDefaults: QueueSettings;
  readonly retention: Retention;
  /** How long a key stays valid after its task has finished. */
  readonly keyTtlMs: number;
  /** How long delivery of an outcome is attempted. */
  readonly replyTtlMs: number;
  /** How long after a restart workers may resume the attempts they held. */
  readonly graceMs: number;
  /** Minimum interval between two load levellings of a queue. */
  readonly balanceMs: number;
  /** Schedules of the configuration, by name. They cannot be changed through the API. */
  readonly schedules: ReadonlyMap<string, ScheduleSettings>;
  /** Evaluates cron expressions. */
  readonly nextCron: NextCron;
  /** Returns a number in [0, 1). Used for jitter only. */
  readonly random: () => number;
}

const hourMs = 3_600_000;

export const defaultCoreOptions: Omit<CoreOptions, "random"> = {
  limits: defaultLimits,
  queues: new Map(),
  queueDefaults: defaultQueueSettings,
  retention: { bytes: 1_073_741_824, ageMs: 7 * 24 * hourMs, count: 100_000 },
  keyTtlMs: 24 * hourMs,
  replyTtlMs: hourMs,
  graceMs: 10_000,
  balanceMs: 1_000,
  schedules: new Map(),
  nextCron: () => undefined,
};
