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
    queues: new Map([
      ...doorQueues(config).map((name) => [name, defaultQueueSettings] as const),
      ...Object.entries(config.queues).map(([name, queue]) => [name, queueSettingsOf(queue)] as const),
    ]),
    retention: { bytes: retention.bytes, ageMs: msOf(retention.ageSeconds), count: retention.count },
    keyTtlMs: msOf(config.keyTtlSeconds),
    replyTtlMs: msOf(config.replyTtlSeconds),
    graceMs: msOf(config.graceSeconds),
    random,
  };
}

/** A door's own queue is there whatever other names are taken; the http door, which has none, gets one of its name. */
function doorQueues({ doors }: YardConfig): string[] {
  const open = Object.entries(doors).filter(([, door]) => door !== false);
  return open.map(([name, door]) => (door !== false && "queue" in door ? door.queue : name));
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
