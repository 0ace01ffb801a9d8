// Settings of a queue as the configuration file and `PATCH /v1/queues/{queue}` write them, and
// their conversion for the core, which counts in milliseconds.

import {
  defaultCoreOptions,
  defaultQueueSettings,
  type QueueSettings,
  type QueueSettingsPatch,
} from "@yardmaster/core";
import * as z from "zod";
import { number, seconds, settings, wholeNumber } from "./values.js";

/** More than any machine runs. A higher limit has no effect and is probably a mistake. */
const countMax = 1_000_000_000;
const triesMax = 1_000_000;

const rate = settings({ tasks: wholeNumber({ from: 1, to: countMax }), perSeconds: seconds() });

const backoff = settings({
  firstSeconds: seconds({ from: 0 }).prefault(1),
  factor: number({ from: 1, to: 1000 }).prefault(2),
  maxSeconds: seconds({ from: 0 }).prefault(60),
  jitter: number({ from: 0, to: 1 }).prefault(0.2),
}).check(({ value, issues }) => {
  const { firstSeconds, maxSeconds } = value;
  // `firstSeconds: 120` alone would otherwise be cut to the default of `maxSeconds`, unnoticed.
  if (firstSeconds <= maxSeconds) return;
  const message = `at most maxSeconds, which is ${maxSeconds}`;
  issues.push({ code: "custom", path: ["firstSeconds"], message, input: firstSeconds });
});

const retention = settings({
  bytes: wholeNumber({ from: 1 }).prefault(defaultCoreOptions.retention.bytes),
  ageSeconds: seconds().prefault(defaultCoreOptions.retention.ageMs / 1000),
  count: wholeNumber({ from: 1 }).prefault(defaultCoreOptions.retention.count),
});

const shape = {
  attemptTimeoutSeconds: seconds(),
  attempts: wholeNumber({ from: 1, to: triesMax }),
  failures: wholeNumber({ from: 1, to: triesMax }),
  maxWaiting: wholeNumber({ from: 1 }),
  maxBytes: wholeNumber({ from: 1 }),
  maxRunning: wholeNumber({ from: 1, to: countMax }),
  maxRunningPerGroup: wholeNumber({ from: 1, to: countMax }),
  rate,
  backoff,
  retention,
} as const;

export const queueSettings = settings({
  attemptTimeoutSeconds: shape.attemptTimeoutSeconds.optional(),
  attempts: shape.attempts.optional(),
  failures: shape.failures.optional(),
  maxWaiting: shape.maxWaiting.optional(),
  maxBytes: shape.maxBytes.optional(),
  maxRunning: shape.maxRunning.optional(),
  maxRunningPerGroup: shape.maxRunningPerGroup.optional(),
  rate: shape.rate.optional(),
  backoff: shape.backoff.optional(),
  retention: shape.retention.optional(),
});

/** A setting that is absent has the yard's default. */
export type QueueConfig = z.output<typeof queueSettings>;

/** `null` resets a setting to what the file or the default says. */
export const queueSettingsPatch = z.strictObject(
  {
    attemptTimeoutSeconds: shape.attemptTimeoutSeconds.nullable().optional(),
    attempts: shape.attempts.nullable().optional(),
    failures: shape.failures.nullable().optional(),
    maxWaiting: shape.maxWaiting.nullable().optional(),
    maxBytes: shape.maxBytes.nullable().optional(),
    maxRunning: shape.maxRunning.nullable().optional(),
    maxRunningPerGroup: shape.maxRunningPerGroup.nullable().optional(),
    rate: shape.rate.nullable().optional(),
    backoff: shape.backoff
      .nullable()
      .meta({ description: "What is left out has its default: 1 s, 2, 60 s and 0.2." })
      .optional(),
    retention: shape.retention
      .nullable()
      .meta({ description: "What is left out has its default: 1 GiB, 7 days and 100,000." })
      .optional(),
  },
  { error: (issue) => (issue.code === "unrecognized_keys" ? undefined : "a JSON object of settings") },
);

export type QueueSettingName = keyof typeof shape;
export const queueSettingNames = Object.keys(shape) as QueueSettingName[];

/** The name of the same setting in the core. */
export function coreNameOf(name: QueueSettingName): keyof QueueSettings {
  return name === "attemptTimeoutSeconds" ? "attemptTimeoutMs" : name;
}

/** Converts to the core's units. `null` stays `null`. */
export function corePatchOf(given: z.output<typeof queueSettingsPatch>): QueueSettingsPatch {
  const { attemptTimeoutSeconds, rate, backoff, retention, ...counts } = given;
  return {
    ...withoutUndefined(counts),
    ...(attemptTimeoutSeconds !== undefined && {
      attemptTimeoutMs: attemptTimeoutSeconds === null ? null : msOf(attemptTimeoutSeconds),
    }),
    ...(rate !== undefined && {
      rate: rate === null ? null : { tasks: rate.tasks, perMs: msOf(rate.perSeconds) },
    }),
    ...(backoff !== undefined && { backoff: backoff === null ? null : backoffOf(backoff) }),
    ...(retention !== undefined && { retention: retention === null ? null : retentionOf(retention) }),
  };
}

export function coreSettingsOf(config: QueueConfig): QueueSettings {
  return { ...defaultQueueSettings, ...(corePatchOf(config) as Partial<QueueSettings>) };
}

/** A queue with a backoff of its own waits from the first retry on. */
function backoffOf({ firstSeconds, factor, maxSeconds, jitter }: z.output<typeof backoff>) {
  return { atOnce: 0, firstMs: msOf(firstSeconds), factor, maxMs: msOf(maxSeconds), jitter };
}

function retentionOf({ bytes, ageSeconds, count }: z.output<typeof retention>) {
  return { bytes, ageMs: msOf(ageSeconds), count };
}

/** The values in force, as the API shows them. `null`: there is no limit. */
export function shownSettings(values: QueueSettings): Record<QueueSettingName, unknown> {
  const { attemptTimeoutMs, rate, backoff, retention } = values;
  return {
    attemptTimeoutSeconds: attemptTimeoutMs === 0 ? null : attemptTimeoutMs / 1000,
    attempts: values.attempts,
    failures: values.failures,
    maxWaiting: values.maxWaiting,
    maxBytes: values.maxBytes,
    maxRunning: orNull(values.maxRunning),
    maxRunningPerGroup: orNull(values.maxRunningPerGroup),
    rate: rate === undefined ? null : { tasks: rate.tasks, perSeconds: rate.perMs / 1000 },
    backoff: {
      firstSeconds: backoff.firstMs / 1000,
      factor: backoff.factor,
      maxSeconds: backoff.maxMs / 1000,
      jitter: backoff.jitter,
    },
    retention:
      retention === undefined
        ? null
        : { bytes: retention.bytes, ageSeconds: retention.ageMs / 1000, count: retention.count },
  };
}

function orNull(limit: number): number | null {
  return limit === Number.POSITIVE_INFINITY ? null : limit;
}

type Defined<Values> = { [Name in keyof Values]?: Exclude<Values[Name], undefined> };

function withoutUndefined<Values extends object>(values: Values): Defined<Values> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Defined<Values>;
}

/** At least 1, because 0 means none. */
export function msOf(seconds: number): number {
  return seconds === 0 ? 0 : Math.max(1, Math.round(seconds * 1000));
}
