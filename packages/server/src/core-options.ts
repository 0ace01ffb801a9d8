// The configuration as the core wants it: milliseconds, and every queue's settings complete.

import {
  type CoreOptions,
  defaultCoreOptions,
  defaultQueueSettings,
  type QueueSettings,
} from "@yardmaster/core";
import type { QueueConfig, YardConfig } from "./config.js";

export function coreOptionsOf(config: YardConfig, random: () => number): CoreOptions {
  const { retention, limits } = config;
  return {
    ...defaultCoreOptions,
    limits: { ...defaultCoreOptions.limits, payloadBytes: limits.payloadBytes },
    queues: new Map(Object.entries(config.queues).map(([name, queue]) => [name, queueSettingsOf(queue)])),
    retention: { bytes: retention.bytes, ageMs: msOf(retention.ageSeconds), count: retention.count },
    keyTtlMs: msOf(config.keyTtlSeconds),
    replyTtlMs: msOf(config.replyTtlSeconds),
    graceMs: msOf(config.graceSeconds),
    random,
  };
}

function queueSettingsOf(queue: QueueConfig): QueueSettings {
  const usual = defaultQueueSettings;
  return {
    attemptTimeoutMs: msOf(queue.attemptTimeoutSeconds ?? 0),
    attempts: queue.attempts ?? usual.attempts,
    failures: queue.failures ?? usual.failures,
    maxWaiting: queue.maxWaiting ?? usual.maxWaiting,
    maxBytes: queue.maxBytes ?? usual.maxBytes,
  };
}

/** At least one: a part of a millisecond is still not "none". */
export function msOf(seconds: number): number {
  return seconds === 0 ? 0 : Math.max(1, Math.round(seconds * 1000));
}
