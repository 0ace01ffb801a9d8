// The configuration in the core's terms: milliseconds, and complete settings for every queue.

import { type CoreOptions, defaultCoreOptions, defaultQueueSettings } from "@yardmaster/core";
import { coreSettingsOf, msOf } from "./config/queue-settings.js";
import type { YardConfig } from "./config.js";
import { nextCron } from "./schedules/cron.js";
import { settingsOf } from "./schedules/form.js";

export function coreOptionsOf(config: YardConfig, random: () => number): CoreOptions {
  const { retention, limits } = config;
  return {
    ...defaultCoreOptions,
    limits: {
      ...defaultCoreOptions.limits,
      payloadBytes: limits.payloadBytes,
      dependedOn: limits.dependedOn,
    },
    queues: new Map([
      ...doorQueues(config).map((name) => [name, defaultQueueSettings] as const),
      ...Object.entries(config.queues).map(([name, queue]) => [name, coreSettingsOf(queue)] as const),
    ]),
    retention: { bytes: retention.bytes, ageMs: msOf(retention.ageSeconds), count: retention.count },
    keyTtlMs: msOf(config.keyTtlSeconds),
    replyTtlMs: msOf(config.replyTtlSeconds),
    graceMs: msOf(config.graceSeconds),
    schedules: new Map(
      Object.entries(config.schedules).map(([name, schedule]) => [name, settingsOf(schedule)] as const),
    ),
    nextCron,
    random,
  };
}

/** A door's own queue always exists. The http door has none, so it gets one with its name. */
function doorQueues({ doors }: YardConfig): string[] {
  const open = Object.entries(doors).filter(([, door]) => door !== false);
  return open.map(([name, door]) => (door !== false && "queue" in door ? door.queue : name));
}
