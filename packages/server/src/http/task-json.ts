// A task as the API shows it. Times are RFC 3339 and ids decimal text; what is not there yet is null.

import {
  type StoredTask,
  type StoryEntry,
  type Submission,
  storyOf,
  type TaskId,
  type WallTime,
  type Why,
} from "@yardmaster/core";

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

/** What the door knows of a task that it has just handed in, without asking anybody. */
export interface Accepted {
  readonly id: TaskId;
  readonly door: string;
  readonly submission: Submission;
  readonly submittedAt: WallTime;
}

/** A task as it was accepted: what `taskJson` would show of it before anything has happened to it. */
export function acceptedJson({ id, door, submission, submittedAt }: Accepted, why: Why): TaskJson {
  const at = timeJson(submittedAt);
  return {
    id: String(id),
    queue: submission.queue,
    state: "waiting",
    priority: submission.priority ?? 0,
    key: submission.key ?? null,
    door,
    replyTo: null,
    submittedAt: at,
    startedAt: null,
    finishedAt: null,
    attempt: null,
    worker: null,
    contentType: submission.payload.mediaType,
    payloadBytes: submission.payload.size,
    resultBytes: null,
    error: null,
    why: whyJson(why),
    told: false,
    story: [{ at, to: "waiting", cause: "submitted" }],
  };
}

let lastTime = Number.NaN;
let lastTimeJson = "";

/** Many in a row are of the same millisecond. */
export function timeJson(time: WallTime): string {
  if (time === lastTime) return lastTimeJson;
  lastTime = time;
  lastTimeJson = new Date(time).toISOString();
  return lastTimeJson;
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
