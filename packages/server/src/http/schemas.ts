// The shapes of what the API answers with, as JSON Schema: they write the answers, and describe them in /openapi.json.
// A property that is not here is not sent.

import type { JsonSchema } from "./operation.js";
import { problemKinds } from "./problems.js";

const text = { type: "string" } as const;
const textOrNull = { type: ["string", "null"] } as const;
/** The formats are for clients in languages that have to choose: what may exceed 2³¹ is `int64`. */
const integer = { type: "integer", format: "int32" } as const;
const long = { type: "integer", format: "int64" } as const;
const longOrNull = { type: ["integer", "null"], format: "int64" } as const;
const count = { ...long, minimum: 0 } as const;
const yesOrNo = { type: "boolean" } as const;
/** RFC 3339. */
const time = { type: "string", format: "date-time" } as const;
const timeOrNull = { type: ["string", "null"], format: "date-time" } as const;

export const taskStates = ["waiting", "running", "done", "failed", "cancelled", "expired"] as const;

/** All properties are always there but those named. */
function object<Properties extends Record<string, unknown>>(properties: Properties, optional: string[] = []) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", required, properties } as const;
}

function orNull<Schema extends { readonly type: string }>(schema: Schema) {
  return { ...schema, type: [schema.type, "null"] } as const;
}

const storyEntrySchema = object(
  { at: time, to: { ...text, enum: taskStates }, cause: text, attempt: long, worker: text },
  ["attempt", "worker"],
);

export const errorSchema = object({ code: text, message: text });
const whySchema = object({ code: text, message: text, until: time }, ["until"]);

export const taskSchema = object({
  id: text,
  queue: text,
  state: { ...text, enum: taskStates },
  priority: integer,
  key: textOrNull,
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
  story: { type: "array", items: storyEntrySchema },
});

export const taskPageSchema = object({ items: { type: "array", items: taskSchema }, cursor: textOrNull });

export const problemSchema = object({
  type: text,
  title: text,
  status: integer,
  detail: text,
  code: { ...text, enum: Object.keys(problemKinds) },
});

/** What a batch answers with; written by hand, since no serializer has to find out which of the two an item is. */
export const batchAnswerSchema = object({
  items: { type: "array", items: { anyOf: [taskSchema, problemSchema] } },
});

export const queueSchema = object({
  name: text,
  waiting: count,
  running: count,
  paused: yesOrNo,
  draining: yesOrNo,
});

export const queueListSchema = object({ items: { type: "array", items: queueSchema } });

const workerProperties = {
  id: text,
  door: text,
  dialect: text,
  address: text,
  queues: { type: "array", items: text },
  slots: { ...integer, minimum: 0 },
  running: count,
  state: { ...text, enum: ["idle", "busy", "draining", "lost"] },
  joinedAt: time,
  lastSeenAt: time,
  lostReason: textOrNull,
  info: { type: ["object", "null"], additionalProperties: true },
} as const;

export const workerSchema = object(workerProperties);

export const workerListSchema = object({ items: { type: "array", items: workerSchema } });

export const attemptSchema = object(
  {
    task: text,
    attempt: long,
    token: text,
    contentType: text,
    payload: { ...text, contentEncoding: "base64" },
    leaseUntil: time,
    traceparent: text,
  },
  ["traceparent"],
);

export const attemptListSchema = object({ attempts: { type: "array", items: attemptSchema } });

export const beatSchema = object({ cancel: yesOrNo, leaseUntil: timeOrNull });

/** The addresses of each door, by the setting that gave them. */
export const doorsSchema = {
  type: "object",
  additionalProperties: { type: "object", additionalProperties: text },
} as const;

/** A kind of message that a door knows by name; what else it says of it is its own. */
const specSchema = {
  ...object({ name: text, title: textOrNull, description: textOrNull }),
  additionalProperties: true,
} as const;

export const specListSchema = object({ items: { type: "array", items: specSchema } });

const anyValue = {};

/** One line of a batch of tasks. */
export const submissionSchema = object(
  {
    payload: { description: "Text as it is, or any other JSON value as JSON.", ...anyValue },
    payloadBase64: { ...text, contentEncoding: "base64" },
    contentType: text,
    priority: integer,
    delay: text,
    timeout: text,
    expires: text,
    attempts: integer,
    failures: integer,
    key: text,
  },
  [
    "payload",
    "payloadBase64",
    "contentType",
    "priority",
    "delay",
    "timeout",
    "expires",
    "attempts",
    "failures",
    "key",
  ],
);

export const failureSchema = object({ code: text, message: text }, ["code"]);

/** One line of a batch of ended attempts. */
export const endingSchema = object(
  {
    task: text,
    attempt: long,
    token: text,
    result: { description: "Text as it is, or any other JSON value as JSON.", ...anyValue },
    resultBase64: { ...text, contentEncoding: "base64" },
    contentType: text,
    error: failureSchema,
  },
  ["result", "resultBase64", "contentType", "error"],
);

/** One event of a stream: the fields of the event, `data` read as JSON. Those of `/v1/wire` have no id. */
function event(name: string, data: JsonSchema, fields: Record<string, JsonSchema> = {}) {
  return object({ ...fields, event: { const: name }, data });
}

const numbered = { id: { ...text, description: "For `Last-Event-ID`." } };
const { lastSeenAt: _, ...shownOfWorkers } = workerProperties;
/** In events a worker is without the time it was last heard, which changes all the time. */
const workerInEventsSchema = object(shownOfWorkers);

const snapshotSchema = object({
  queues: { type: "array", items: queueSchema },
  workers: { type: "array", items: workerInEventsSchema },
  queueCount: { ...count, description: "Of all queues: a snapshot shows 2,000 of them." },
  workerCount: { ...count, description: "Of all workers: a snapshot shows 2,000 of them." },
});

/** What `/v1/events` sends. */
export const yardEventSchema = {
  oneOf: [
    event("snapshot", snapshotSchema, numbered),
    event("queue", queueSchema, numbered),
    event("queue-gone", object({ name: text }), numbered),
    event("worker", workerInEventsSchema, numbered),
    event("worker-gone", object({ id: text }), numbered),
    event("task", taskSchema, numbered),
    event("skipped", object({ tasks: count }), numbered),
  ],
} as const;

const messageSchema = object({
  at: time,
  door: text,
  direction: { ...text, enum: ["in", "out"] },
  peer: text,
  type: { ...text, description: "In the dialect's own word." },
  bytes: count,
  content: { description: "What is in it, decoded; text that ends in … where that is too long to show." },
});

/** What `/v1/wire` sends. */
export const wireEventSchema = {
  oneOf: [
    event("message", messageSchema),
    event(
      "skipped",
      object({
        messages: { ...longOrNull, description: "null: not counted for a listener that fell behind" },
      }),
    ),
  ],
} as const;

/** Those that have a name of their own in the description. */
export const components: ReadonlyMap<JsonSchema, string> = new Map<JsonSchema, string>([
  [taskSchema, "Task"],
  [storyEntrySchema, "StoryEntry"],
  [taskPageSchema, "TaskPage"],
  [problemSchema, "Problem"],
  [batchAnswerSchema, "BatchAnswer"],
  [queueSchema, "Queue"],
  [queueListSchema, "QueueList"],
  [workerSchema, "Worker"],
  [workerListSchema, "WorkerList"],
  [attemptSchema, "Attempt"],
  [attemptListSchema, "AttemptList"],
  [beatSchema, "Beat"],
  [doorsSchema, "Doors"],
  [specSchema, "Spec"],
  [specListSchema, "SpecList"],
  [submissionSchema, "Submission"],
  [endingSchema, "AttemptEnding"],
  [failureSchema, "Failure"],
  [yardEventSchema, "YardEvent"],
  [wireEventSchema, "WireEvent"],
  [snapshotSchema, "Snapshot"],
  [workerInEventsSchema, "WorkerInEvents"],
  [messageSchema, "WireMessage"],
]);
