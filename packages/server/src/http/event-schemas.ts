// The schemas of events, for both streams.

import type { JsonSchema } from "./operation.js";
import { count, list, long, longOrNull, object, text, textOrNull, time } from "./schema-parts.js";
import { taskSchema } from "./schemas.js";
import { alertSchema, figuresSchema, queueSchema, workerStateProperties } from "./yard-schemas.js";

/** One event of a stream: its fields, as text. `data` is JSON. Some events have no id. */
function event(name: string, contentSchema: JsonSchema, fields: Record<string, JsonSchema> = {}) {
  const data = { ...text, contentMediaType: "application/json", contentSchema };
  return object({ ...fields, event: { const: name }, data });
}

const numbered = { id: { ...text, description: "For `Last-Event-ID`." } };
/** In events a worker has no fields that change with every message. */
export const workerInEventsSchema = object(workerStateProperties);

export const snapshotSchema = object(
  {
    now: time,
    durability: {
      enum: ["fsync", "memory", "replicated"],
      description:
        "What an accepted task survives: a crash of the machine, nothing, or the loss of a server.",
    },
    queues: list(queueSchema),
    workers: list(workerInEventsSchema),
    queueCount: { ...count, description: "Number of all queues; a snapshot lists at most 2,000." },
    workerCount: { ...count, description: "Number of all workers; a snapshot lists at most 2,000." },
    alerts: list(alertSchema),
  },
  ["alerts", "durability"],
);

const row = { type: "array" } as const;

export const frameSchema = object({
  from: { ...long, description: "Milliseconds since 1970; other times are milliseconds after it." },
  to: long,
  workers: { ...list(text), description: "Rows name a worker by its index in this list." },
  queues: list(text),
  rows: {
    ...list(row),
    description: "[task, attempt, worker, queue, start, end or null, outcome, reason or null, try]",
  },
  busyFrom: longOrNull,
  busy: {
    type: ["array", "null"],
    items: row,
    description: "Once a second: [worker, queue, running, slot milliseconds since busyFrom]. Exact.",
  },
  began: count,
  ended: count,
  shown: { ...count, description: "Rows; fewer than began and ended while there are too many." },
  stalls: { ...list(row), description: "[start, milliseconds] in which the dispatcher stood still." },
});

const beatsSchema = object({
  at: time,
  workers: {
    ...list(row),
    description:
      "[id, running, done, failed, donePerMinute, lastSeenAt in ms, limitMs or null], for each worker whose row changed",
  },
});

/** The events of `/v1/events`. */
export const yardEventSchema = {
  oneOf: [
    event("snapshot", snapshotSchema, numbered),
    event("queue", queueSchema, numbered),
    event("queue-gone", object({ name: text }), numbered),
    event("worker", workerInEventsSchema, numbered),
    event("worker-gone", object({ id: text }), numbered),
    event("task", taskSchema, numbered),
    event("skipped", object({ tasks: count }), numbered),
    event("alert", alertSchema, numbered),
    event("alert-gone", object({ id: text }), numbered),
    event("attempts", frameSchema),
    event("beats", beatsSchema),
    event("figures", figuresSchema),
  ],
} as const;

const fieldSchema = object({ name: text, at: count, bytes: count, value: textOrNull });

export const wireMessageSchema = object({
  at: time,
  door: text,
  direction: { ...text, enum: ["in", "out"] },
  side: { ...textOrNull, enum: ["client", "worker", null] },
  peer: text,
  type: { ...text, description: "The message's type in the dialect's terms." },
  bytes: count,
  task: textOrNull,
  content: { description: "Its decoded content; text that ends in … if it is too long to show." },
  data: { ...textOrNull, contentEncoding: "base64", description: "The first 4,096 bytes of the message." },
  fields: { ...list(fieldSchema), description: "Where each field is in `data`." },
  fault: { ...textOrNull, description: "Why the message was refused, if it was." },
});

/** The events of `/v1/wire`. */
export const wireEventSchema = {
  oneOf: [
    event("message", wireMessageSchema),
    event(
      "skipped",
      object({
        messages: { ...longOrNull, description: "null: not counted for a listener that fell behind" },
      }),
    ),
  ],
} as const;
