// The shapes of the API's answers as JSON Schema. They serialise the answers and describe them in
// /openapi.json. A property that is not here is not sent.

import type { JsonSchema } from "./operation.js";
import { problemKinds } from "./problems.js";
import {
  count,
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

export const taskStates = ["waiting", "running", "done", "failed", "cancelled", "expired"] as const;

export const storyEntrySchema = object(
  { at: time, to: { ...text, enum: taskStates }, cause: text, attempt: long, worker: text },
  ["attempt", "worker"],
);

export const errorSchema = object(
  {
    code: text,
    message: text,
    detail: {
      ...text,
      description: "For example a stack trace. Present only if a single task is requested.",
    },
  },
  ["detail"],
);

const anyValue = {};

const progressSchema = object({
  value: {
    description: "A number from 0 to 1, or other JSON that the worker reported; null if it gave none.",
    ...anyValue,
  },
  message: textOrNull,
  at: time,
});
const whySchema = object({ code: text, message: text, until: time }, ["until"]);

const idList = { type: "array", items: text } as const;
const ifFailedSchema = { ...text, enum: ["cancel", "run"] } as const;

/** Looked up only on request. */
const outlookSchema = object({
  ahead: {
    ...longOrNull,
    description: "Tasks that go before it; null when not ready, or when 1,000 and more do.",
  },
  leaseUntil: timeOrNull,
  limitAt: timeOrNull,
});

export const taskSchema = object(
  {
    id: text,
    queue: text,
    state: { ...text, enum: taskStates },
    priority: integer,
    key: textOrNull,
    group: textOrNull,
    door: text,
    replyTo: textOrNull,
    submittedAt: time,
    startedAt: timeOrNull,
    finishedAt: timeOrNull,
    attempt: longOrNull,
    worker: textOrNull,
    contentType: text,
    payloadBytes: count,
    resultBytes: longOrNull,
    error: orNull(errorSchema),
    why: orNull(whySchema),
    told: yesOrNo,
    losses: { ...count, description: "Lost attempts so far." },
    lossesMax: { ...count, description: "Number of lost attempts after which it ends failed." },
    failures: { ...count, description: "Failures that workers reported so far." },
    failuresMax: { ...count, description: "Number of reported failures after which it ends failed." },
    retries: { ...textOrNull, description: "The task that this one retries." },
    story: list(storyEntrySchema),
    outlook: outlookSchema,
    after: { ...idList, description: "The tasks that had to end before it could start." },
    ifFailed: ifFailedSchema,
    dependents: {
      ...idList,
      description:
        "Tasks that depend on it and have not ended, at most 1,000. Present only if a single task is requested.",
    },
    schedule: { ...text, description: "The schedule that submitted it." },
    progress: { ...progressSchema, description: "The last report of the last attempt, if it made one." },
  },
  ["outlook", "after", "ifFailed", "dependents", "schedule", "progress"],
);

export const taskPageSchema = object({ items: { type: "array", items: taskSchema }, cursor: textOrNull });

const countsByQueue = { type: "object", additionalProperties: count } as const;

/** The answer to `tasks:count`. */
export const taskCountSchema = object(
  {
    count,
    isMore: { ...yesOrNo, description: "There are more than were counted." },
    byQueue: {
      ...countsByQueue,
      description: "The 20 queues with the most matching tasks; the others together as `(other)`.",
    },
    histogram: object({
      from: time,
      stepMs: count,
      queues: { type: "object", additionalProperties: { type: "array", items: count } },
    }),
  },
  ["histogram"],
);

export const actionSchema = object({
  id: text,
  kind: { ...text, enum: ["cancel", "retry", "purge"] },
  state: { ...text, enum: ["running", "done", "stopped"] },
  filter: { type: "object", additionalProperties: text },
  by: text,
  startedAt: time,
  endedAt: timeOrNull,
  matched: { ...count, description: "Tasks found so far: done and refused." },
  done: count,
  refused: {
    ...count,
    description: "Tasks that had finished or changed their state meanwhile, or found no room.",
  },
  lastRefusal: { ...textOrNull, description: "Why the last of them was refused." },
});

export const actionListSchema = object({ items: { type: "array", items: actionSchema } });

export const problemSchema = object({
  type: text,
  title: text,
  status: integer,
  detail: text,
  code: { ...text, enum: Object.keys(problemKinds) },
});

/**
 * A task in the minimal view. `existing` is true if its key was submitted before. The other fields
 * are present for a finished task that was awaited.
 */
export const taskIdSchema = object(
  {
    id: text,
    existing: yesOrNo,
    state: { ...text, enum: taskStates },
    error: orNull(errorSchema),
    contentType: text,
    result: text,
    resultBase64: { ...text, contentEncoding: "base64" },
  },
  ["existing", "state", "error", "contentType", "result", "resultBase64"],
);

/**
 * The answer to a batch. It is serialised by hand, because a generic serialiser would have to find
 * out the type of each item.
 */
export const batchAnswerSchema = object({
  items: { type: "array", items: { anyOf: [taskSchema, problemSchema, taskIdSchema] } },
});

export const scheduleSchema = object({
  name: text,
  queue: text,
  cron: textOrNull,
  timezone: textOrNull,
  everyMs: longOrNull,
  overlap: { ...text, enum: ["skip", "queue"] },
  catchUp: { ...text, enum: ["none", "one"] },
  start: timeOrNull,
  end: timeOrNull,
  jitterMs: count,
  priority: integer,
  group: textOrNull,
  attempts: {
    ...longOrNull,
    description: "Null: the setting of the queue applies. The same holds for the next three.",
  },
  failures: longOrNull,
  timeoutMs: longOrNull,
  expiresMs: longOrNull,
  contentType: text,
  payloadBytes: count,
  origin: { ...text, enum: ["api", "config"] },
  paused: yesOrNo,
  nextTimes: { type: "array", items: time },
  lastRunAt: timeOrNull,
  lastTask: textOrNull,
  lastSkippedAt: timeOrNull,
  trouble: { ...textOrNull, description: "Why the run that is due could not be submitted." },
});

export const scheduleListSchema = object({ items: { type: "array", items: scheduleSchema } });

/** The answer to `:run-now`. */
export const acceptedRunSchema = object({ task: text });

export const attemptSchema = object(
  {
    task: text,
    attempt: long,
    token: text,
    contentType: text,
    payload: { ...text, contentEncoding: "base64" },
    leaseUntil: time,
    traceparent: text,
    after: { ...idList, description: "The tasks that it depends on, whose results can be read." },
  },
  ["traceparent", "after"],
);

export const attemptListSchema = object({ attempts: { type: "array", items: attemptSchema } });

export const beatSchema = object({ cancel: yesOrNo, leaseUntil: timeOrNull });

/** The addresses of each door, by the setting that gave them. */
const queuePatternsSchema = list({
  ...text,
  description: "A pattern of queue names; `*` stands for any characters.",
});

export const meSchema = object({
  principal: { ...textOrNull, description: "Null if the dispatcher does not ask who a caller is." },
  credential: { ...text, enum: ["token", "password", "curve", "certificate", "anonymous"] },
  rights: object({
    submit: queuePatternsSchema,
    work: queuePatternsSchema,
    read: queuePatternsSchema,
    operate: queuePatternsSchema,
    watch: queuePatternsSchema,
  }),
});

export const doorsSchema = {
  type: "object",
  additionalProperties: { type: "object", additionalProperties: text },
} as const;

/** A kind of message that a door knows by name. Other fields depend on the door. */
export const specSchema = {
  ...object({ name: text, title: textOrNull, description: textOrNull }),
  additionalProperties: true,
} as const;

export const specListSchema = object({ items: { type: "array", items: specSchema } });

export const graphAnswerSchema = object({
  items: {
    type: "array",
    items: object({
      name: text,
      id: text,
      existing: { ...yesOrNo, description: "An earlier submission with the same key was accepted." },
    }),
  },
});

/** What a beat may report. */
export const reportSchema = object(
  {
    progress: { description: "A number from 0 to 1, or other JSON of at most 4,096 bytes.", ...anyValue },
    message: { ...text, maxLength: 1024 },
  },
  ["progress", "message"],
);

const line = (type: string, properties: Record<string, JsonSchema>, optional: string[] = []) =>
  object({ type: { const: type }, ...properties }, optional);

/** The lines of the worker stream. */
export const workLineSchema = {
  oneOf: [
    line("open", { worker: text, token: text, slots: integer, leaseMs: long, beatMs: long }),
    line(
      "attempt",
      {
        task: text,
        attempt: long,
        contentType: text,
        payload: text,
        payloadBase64: { ...text, contentEncoding: "base64" },
        payloadBytes: count,
        traceparent: text,
        after: idList,
        queue: { ...text, description: "Present if the stream serves several queues." },
      },
      ["payload", "payloadBase64", "payloadBytes", "traceparent", "after", "queue"],
    ),
    line("cancel", { task: text, attempt: long, reason: text }),
    line("beat", {}),
    line("end", {
      reason: { ...text, enum: ["drained", "stopping", "replaced", "queue_full"] },
      message: text,
    }),
  ],
} as const;
