// Every limit of the core has a name here, a default, and a defined consequence. Reaching one is counted by name.

export interface Limits {
  /** A larger payload is refused with `payload_too_large`. */
  readonly payloadBytes: number;
  /** Workers over all doors; one more is dismissed. */
  readonly workers: number;
  /** Workers of one door; one more is dismissed. Less than all, so that no door's peers can lock out another's. */
  readonly workersPerDoor: number;
  /** Workers of one host at one door that always have a place; beyond it a host has half of what others leave. */
  readonly workersPerHost: number;
  /** Queues that exist because somebody named them; one more is refused with `queue_full`. */
  readonly queues: number;
  /** Those among them that peers of one door named; one more is refused with `queue_full`. */
  readonly queuesPerDoor: number;
  /** Queues one worker may serve; it serves the first so many. */
  readonly queuesPerWorker: number;
  /** Attempts one worker may hold, whatever it says. */
  readonly slotsPerWorker: number;
  /** Keys of finished tasks; beyond it the oldest is forgotten before its time. */
  readonly finishedKeys: number;
  /** Finished tasks whose asker has not been told; beyond it the oldest is settled untold. */
  readonly untold: number;
  /** Finished tasks kept at hand because a lost attempt may still answer; beyond it the oldest is let go. */
  readonly lingering: number;
  /** Entries of a task's story; the oldest go first. */
  readonly storyLength: number;
  /** Lost workers that are still shown. */
  readonly lostWorkers: number;
  /** Requests that wait (watches and wishes for work) of one door; one more is refused with `queue_full`. */
  readonly waitingRequests: number;
  /** Wishes for work that one worker has open; one more is refused with `queue_full`. What a worker does costs by it. */
  readonly claimsPerWorker: number;
  /** Length of an idempotency key. */
  readonly keyLength: number;
  /** Length of what peers say went wrong, in an outcome or a story; the rest is cut off. */
  readonly messageLength: number;
}

export type LimitName = keyof Limits | "queueLength" | "queueBytes" | "diskRoom" | "memoryBytes";

export const defaultLimits: Limits = {
  payloadBytes: 268_435_456,
  workers: 100_000,
  workersPerDoor: 50_000,
  // A machine with ten thousand workers, or a proxy in front of them, is not hostile.
  workersPerHost: 10_000,
  queues: 10_000,
  queuesPerDoor: 5_000,
  queuesPerWorker: 64,
  slotsPerWorker: 65_536,
  finishedKeys: 1_000_000,
  untold: 100_000,
  lingering: 10_000,
  storyLength: 32,
  lostWorkers: 100,
  waitingRequests: 100_000,
  claimsPerWorker: 1000,
  keyLength: 512,
  messageLength: 1024,
};

/** What can be set for one queue. */
export interface QueueSettings {
  /** Time limit of an attempt; 0 is none. */
  readonly attemptTimeoutMs: number;
  readonly attempts: number;
  readonly failures: number;
  /** Waiting tasks; one more is refused with `queue_full`. */
  readonly maxWaiting: number;
  /** Bytes of waiting payloads; more is refused with `queue_full`. */
  readonly maxBytes: number;
}

export const defaultQueueSettings: QueueSettings = {
  attemptTimeoutMs: 0,
  attempts: 5,
  failures: 1,
  maxWaiting: 1_000_000,
  maxBytes: 1_073_741_824,
};

export interface Retention {
  readonly bytes: number;
  readonly ageMs: number;
  readonly count: number;
}

export interface CoreOptions {
  readonly limits: Limits;
  /** By name: a map, since any name may be asked for, those of an object's own properties among them. */
  readonly queues: ReadonlyMap<string, QueueSettings>;
  /** For every queue that `queues` does not name. */
  readonly queueDefaults: QueueSettings;
  readonly retention: Retention;
  /** How long a key outlives its task. */
  readonly keyTtlMs: number;
  /** How long an outcome waits to be told. */
  readonly replyTtlMs: number;
  /** How long after a restart workers may come back for what they held. */
  readonly graceMs: number;
  /** How often at most a queue's load is levelled. */
  readonly balanceMs: number;
  /** In [0, 1), from outside: for jitter alone. */
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
};
