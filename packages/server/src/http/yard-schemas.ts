// Schemas about the yard as a whole: queues, workers, problems, figures, history, failures.

import type { JsonSchema } from "./operation.js";
import {
  count,
  figure,
  figuresBy,
  integer,
  list,
  long,
  longOrNull,
  object,
  orNull,
  text,
  textOrNull,
  time,
  timeOrNull,
  yesOrNo,
} from "./schema-parts.js";

const countsBy = { type: "object", additionalProperties: count } as const;
/** Means of the last 10 s and of the last 60 s. */
const rates = {
  ...list(figure),
  minItems: 2,
  maxItems: 2,
  description: "Means of 10 s and of 60 s.",
} as const;

const queueProperties = {
  name: text,
  waiting: count,
  running: count,
  paused: yesOrNo,
  draining: yesOrNo,
  waitingBy: { ...countsBy, description: "Waiting tasks by the code of why they wait." },
  waitingBytes: count,
  oldestAt: { ...timeOrNull, description: "When the oldest task that could start now was submitted." },
  oldestTask: textOrNull,
  workers: count,
  workersBy: { ...countsBy, description: "Workers by door." },
  inPerSecond: rates,
  donePerSecond: rates,
  failedPerSecond: rates,
  inBy: { ...figuresBy, description: "Submitted tasks a second over 60 s, by the door they came in by." },
  doneBy: { ...figuresBy, description: "Done tasks a second over 60 s, by the door of the worker." },
  pausedAt: timeOrNull,
  pausedBy: textOrNull,
  refusedAt: { ...timeOrNull, description: "When it last refused a task because it was full." },
  maxWaiting: count,
  limited: { ...yesOrNo, description: "Tasks that could start wait because of a limit of the queue." },
} as const;

export const queueSchema = object(queueProperties);

const seconds = { type: ["number", "null"] } as const;
const countOrNull = { ...longOrNull, minimum: 1 } as const;
const rateSchema = orNull(object({ tasks: long, perSeconds: { type: "number" } }));
const backoffSchema = object({
  firstSeconds: { type: "number" },
  factor: { type: "number" },
  maxSeconds: { type: "number" },
  jitter: { type: "number" },
});

const retentionSchema = object({ bytes: count, ageSeconds: { type: "number" }, count });

/** A value in force, and where it comes from. `null`: there is no limit. */
function setting(value: JsonSchema) {
  return object({ value, from: { ...text, enum: ["api", "file", "default"] } });
}

export const queueDetailSchema = object({
  ...queueProperties,
  groups: { ...count, description: "Groups with tasks that have not ended." },
  settings: object({
    attemptTimeoutSeconds: setting(seconds),
    attempts: setting(count),
    failures: setting(count),
    maxWaiting: setting(count),
    maxBytes: setting(count),
    maxRunning: setting(countOrNull),
    maxRunningPerGroup: setting(countOrNull),
    rate: setting(rateSchema),
    backoff: setting(backoffSchema),
    retention: {
      ...setting(orNull(retentionSchema)),
      description: "null: its finished tasks share the common history.",
    },
  }),
});

export const queueListSchema = object({ items: list(queueSchema) });

/** The fields that are also in events. */
export const workerStateProperties = {
  id: text,
  door: text,
  dialect: text,
  address: text,
  queues: list(text),
  slots: { ...integer, minimum: 0 },
  running: count,
  state: { ...text, enum: ["idle", "busy", "draining", "lost"] },
  pulls: { ...yesOrNo, description: "It has no slots: it takes as much as it asks for." },
  joinedAt: time,
  lostReason: textOrNull,
  lostAt: timeOrNull,
  info: { type: ["object", "null"], additionalProperties: true },
} as const;

export const workerSchema = object({
  ...workerStateProperties,
  lastSeenAt: { ...time, description: "In whole seconds." },
  limitMs: { ...longOrNull, description: "How long it may be silent; null while it owes no sign of life." },
  silentAt: { ...timeOrNull, description: "When it is counted as lost unless it is heard." },
  done: count,
  failed: count,
  donePerMinute: count,
});

export const workerListSchema = object({ items: list(workerSchema) });

export const lostSchema = object({
  id: text,
  door: text,
  address: text,
  queues: list(text),
  at: time,
  reason: text,
  words: text,
  held: { ...count, description: "Tasks that it held." },
  backAt: { ...timeOrNull, description: "When a worker of this name joined again." },
  tasks: list(object({ id: text, queue: text, state: text, worker: textOrNull })),
  became: { ...countsBy, description: "What it held, by the state it is in now." },
});

export const lostListSchema = object({ items: list(lostSchema) });

const partSchema = object({ text, queue: text, worker: text, task: text, peer: text, time }, [
  "queue",
  "worker",
  "task",
  "peer",
  "time",
]);
const fixSchema = object(
  { do: text, label: text, queue: text, worker: text, kind: text, peer: text, door: text },
  ["queue", "worker", "kind", "peer", "door"],
);
const subjectSchema = object({ queue: text, worker: text, door: text, peer: text, code: text, kind: text }, [
  "queue",
  "worker",
  "door",
  "peer",
  "code",
  "kind",
]);

export const alertSchema = object({
  id: { ...text, description: "The same for as long as the problem lasts." },
  code: text,
  severity: { ...text, enum: ["stopped", "behind", "notice"] },
  words: text,
  parts: {
    ...list(partSchema),
    description: "The words in pieces; a piece with another field names that thing.",
  },
  since: timeOrNull,
  subject: subjectSchema,
  fixes: list(fixSchema),
});

export const alertListSchema = object({ at: time, items: list(alertSchema), more: count });

export const figuresSchema = object({
  at: time,
  waiting: count,
  running: count,
  inPerSecond: figure,
  donePerSecond: figure,
  failedPerSecond: figure,
  done: { ...count, description: "In the last 5 minutes." },
  failed: { ...count, description: "In the last 5 minutes." },
  oldestAt: timeOrNull,
  oldestTask: textOrNull,
  oldestQueue: textOrNull,
  queues: count,
  workers: count,
  workersIdle: count,
  workersLost: { ...count, description: "In the last hour." },
  failureKinds: { ...count, description: "In the last hour." },
  startedAt: time,
});

const points = list(longOrNull);
const seriesSchema = object({
  name: { ...textOrNull, description: "null: all queues together." },
  waiting: points,
  running: points,
  oldestMs: points,
  in: points,
  done: points,
  failed: points,
  lost: points,
  expired: points,
});

export const historySchema = object({
  span: text,
  stepMs: long,
  from: time,
  to: time,
  startedAt: time,
  series: list(seriesSchema),
  tracked: count,
  untracked: list(text),
});

const shareSchema = object({ of: text, value: text, count, total: count, doneShare: figure });

export const failureKindSchema = object({
  id: text,
  code: text,
  queue: text,
  words: text,
  isExpired: yesOrNo,
  message: { ...text, description: "Of the last task of this kind." },
  task: text,
  count,
  firstAt: time,
  lastAt: time,
  isNew: yesOrNo,
  trend: list(count),
  worker: orNull(object({ id: text, count })),
  shares: list(shareSchema),
  doneSample: { ...count, description: "Done tasks of the queue that these were compared with." },
});

export const failureListSchema = object({
  at: time,
  span: text,
  stepMs: long,
  tasks: count,
  kinds: count,
  items: list(failureKindSchema),
  rest: { ...count, description: "Failed tasks that were counted without a kind of their own." },
});

export const trafficSchema = object({
  at: time,
  items: list(object({ door: text, direction: text, type: text, messages: count, bytes: count })),
  faults: list(object({ door: text, kind: text, count, lastHour: count })),
});
