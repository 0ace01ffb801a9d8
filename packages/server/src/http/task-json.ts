// A task in the form of the API. Times are RFC 3339, ids are decimal text, and values that are not
// known yet are null.

import {
  type IfFailed,
  type StoredTask,
  type StoryEntry,
  type Submission,
  storyOf,
  submittedCause,
  type TaskError,
  type TaskHead,
  type TaskId,
  type TaskOutlook,
  type TaskPolicy,
  type TaskReport,
  type WallTime,
  type Why,
} from "@yardmaster/core";

export function outlookJson({ ahead, leaseUntil, limitAt }: TaskOutlook) {
  return { ahead: ahead ?? null, leaseUntil: timeOrNull(leaseUntil), limitAt: timeOrNull(limitAt) };
}

/**
 * Fields of tasks with such relations only. A task without them keeps its usual fields and size.
 */
type RelationsJson = {
  after?: readonly string[];
  ifFailed?: IfFailed;
  dependents?: readonly string[];
  schedule?: string;
};

interface ReportJson {
  readonly value: unknown;
  readonly message: string | null;
  readonly at: string;
}

function reportJson({ value, message, at }: TaskReport): ReportJson {
  return {
    value: value === undefined ? null : JSON.parse(value),
    message: message ?? null,
    at: timeJson(at),
  };
}

function relationsJson(
  { relations }: TaskHead,
  dependents: readonly TaskId[] = [],
): RelationsJson | undefined {
  if (relations === undefined && dependents.length === 0) return undefined;
  const { after = [], ifFailed = "cancel", schedule } = relations ?? {};
  return {
    ...(after.length > 0 && { after: after.map(String), ifFailed }),
    ...(dependents.length > 0 && { dependents: dependents.map(String) }),
    ...(schedule !== undefined && { schedule }),
  };
}

/** `single`: what is shown only if a single task is requested. */
export function taskJson(
  { head, progress }: StoredTask,
  why: Why | undefined,
  single?: { readonly dependents: readonly TaskId[] },
): TaskJson {
  const relations = relationsJson(head, single?.dependents);
  const report = progress?.report;
  const detail = single && progress?.error?.detail;
  const json = plainTaskJson({ head, progress }, why);
  if (relations === undefined && report === undefined && detail === undefined) return json;
  return {
    ...json,
    ...relations,
    ...(report && { progress: reportJson(report) }),
    ...(detail !== undefined && json.error && { error: { ...json.error, detail } }),
  };
}

function plainTaskJson({ head, progress }: StoredTask, why: Why | undefined) {
  return {
    id: String(head.id),
    queue: head.queue,
    state: progress?.state ?? "waiting",
    priority: head.priority,
    key: head.key ?? null,
    group: head.relations?.group ?? null,
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
    error: errorJson(progress?.error),
    why: why ? whyJson(why) : null,
    told: progress?.told ?? false,
    losses: progress?.losses ?? 0,
    lossesMax: head.policy.attempts,
    failures: progress?.failures ?? 0,
    failuresMax: head.policy.failures,
    retries: idOrNull(head.relations?.retryOf),
    story: storyOf(head, progress).map(storyJson),
  };
}

export type TaskJson = ReturnType<typeof plainTaskJson> & RelationsJson & { progress?: ReportJson };

/** Without the detail: a list of a thousand tasks would have 16 MB of stack traces. */
function errorJson(error: TaskError | undefined): TaskError | null {
  return error === undefined ? null : { code: error.code, message: error.message };
}

/** What the door knows about a task that it just submitted, without a read. */
export interface Accepted {
  readonly id: TaskId;
  readonly policy: TaskPolicy;
  readonly door: string;
  readonly submission: Submission;
  readonly submittedAt: WallTime;
}

/** A newly accepted task: the same as `taskJson` returns before anything happens to it. */
export function acceptedJson({ id, policy, door, submission, submittedAt }: Accepted, why: Why): TaskJson {
  const at = timeJson(submittedAt);
  return {
    id: String(id),
    queue: submission.queue,
    state: "waiting",
    priority: submission.priority ?? 0,
    key: submission.key ?? null,
    group: submission.group ?? null,
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
    losses: 0,
    lossesMax: policy.attempts,
    failures: 0,
    failuresMax: policy.failures,
    retries: idOrNull(submission.retryOf),
    story: [{ at, to: "waiting", cause: submittedCause(submission.by) }],
  };
}

function idOrNull(id: TaskId | undefined): string | null {
  return id === undefined ? null : String(id);
}

let lastTime = Number.NaN;
let lastTimeJson = "";

/** Caches the last time, because many tasks in a row share the same millisecond. */
export function timeJson(time: WallTime): string {
  if (time === lastTime) return lastTimeJson;
  lastTime = time;
  lastTimeJson = new Date(time).toISOString();
  return lastTimeJson;
}

export function timeOrNull(time: WallTime | undefined): string | null {
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
