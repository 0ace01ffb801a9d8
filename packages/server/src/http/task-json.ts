// A task as the API shows it. Times are RFC 3339 and ids decimal text; what is not there yet is null.

import { type StoredTask, type StoryEntry, storyOf, type WallTime, type Why } from "@yardmaster/core";

export function taskJson({ head, progress }: StoredTask, why: Why | undefined) {
  return {
    id: String(head.id),
    queue: head.queue,
    state: progress?.state ?? "waiting",
    priority: head.priority,
    key: head.key ?? null,
    door: head.door,
    replyTo: head.replyTo?.address ?? null,
    submittedAt: timeJson(head.submittedAt),
    startedAt: timeOrNull(progress?.startedAt),
    finishedAt: timeOrNull(progress?.finishedAt),
    attempt: progress?.attempt ?? null,
    worker: progress?.worker ?? null,
    contentType: head.payload.mediaType,
    payloadBytes: head.payload.size,
    resultBytes: progress?.result?.size ?? null,
    error: progress?.error ?? null,
    why: why ? whyJson(why) : null,
    told: progress?.told ?? false,
    story: storyOf(head, progress).map(storyJson),
  };
}

export type TaskJson = ReturnType<typeof taskJson>;

export function timeJson(time: WallTime): string {
  return new Date(time).toISOString();
}

function timeOrNull(time: WallTime | undefined): string | null {
  return time === undefined ? null : timeJson(time);
}

function whyJson({ code, message, until }: Why) {
  return until === undefined ? { code, message } : { code, message, until: timeJson(until) };
}

function storyJson({ at, to, cause, attempt, worker }: StoryEntry) {
  return {
    at: timeJson(at),
    to,
    cause,
    ...(attempt === undefined ? {} : { attempt }),
    ...(worker === undefined ? {} : { worker }),
  };
}

const textOrNull = { type: ["string", "null"] };
const numberOrNull = { type: ["integer", "null"] };
const text = { type: "string" };

/** The same as a schema, for the serializer. A property that is not here is not sent. */
export const taskSchema = {
  type: "object",
  properties: {
    id: text,
    queue: text,
    state: text,
    priority: { type: "integer" },
    key: textOrNull,
    door: text,
    replyTo: textOrNull,
    submittedAt: text,
    startedAt: textOrNull,
    finishedAt: textOrNull,
    attempt: numberOrNull,
    worker: textOrNull,
    contentType: text,
    payloadBytes: { type: "integer" },
    resultBytes: numberOrNull,
    error: { type: ["object", "null"], properties: { code: text, message: text } },
    why: { type: ["object", "null"], properties: { code: text, message: text, until: text } },
    told: { type: "boolean" },
    story: {
      type: "array",
      items: {
        type: "object",
        properties: { at: text, to: text, cause: text, attempt: { type: "integer" }, worker: text },
      },
    },
  },
} as const;

export const taskPageSchema = {
  type: "object",
  properties: { items: { type: "array", items: taskSchema }, cursor: textOrNull },
} as const;
