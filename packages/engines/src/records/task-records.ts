// A task's two records as bytes. Both begin with the id, so that a record under another task's key
// is detected. A field that most tasks lack costs a bit, not a byte.

import {
  type AttemptNumber,
  type Body,
  onlyBy,
  type StoryEntry,
  type TaskHead,
  type TaskId,
  type TaskPolicy,
  type TaskProgress,
  type TaskRelations,
  type TaskReport,
  type TaskStateName,
  type WallTime,
  type WorkerId,
} from "@yardmaster/core";
import { BadRecord, recordKinds } from "./record-form.js";
import type { RecordReader } from "./record-reader.js";
import type { RecordWriter } from "./record-writer.js";

/** By their number in a record: only add at the end. */
const stateNames: readonly TaskStateName[] = ["waiting", "running", "done", "failed", "cancelled", "expired"];
const stateNumbers = new Map(stateNames.map((name, number) => [name, number]));

export const headBits = {
  key: 1,
  fingerprint: 2,
  replyTo: 4,
  /** In version 1 this bit had another meaning, and no field followed. */
  relations: 8,
  envelope: 16,
  notBefore: 32,
  expiresAt: 64,
  diesWithConnection: 128,
} as const;

export const progressBits = {
  attempt: 1,
  worker: 2,
  startedAt: 4,
  finishedAt: 8,
  error: 16,
  result: 32,
  story: 64,
  notBefore: 128,
} as const;
/** Flags in the same byte as the state. */
export const stateBits = { mask: 7, told: 8, recovering: 16, report: 32, detail: 64 } as const;
/** Before version 6 this byte was 0 or 1. */
export const bodyBits = { inline: 1, envelope: 2 } as const;
const reportBits = { value: 1, message: 2 } as const;
const relationBits = { runIfFailed: 1, group: 2, schedule: 4, retryOf: 8, by: 16 } as const;
const storyBits = { mask: 7, attempt: 8, worker: 16 } as const;

/** Returns the record's offset in the writer's buffer. It ends at the writer's position. */
export function writeHead(to: RecordWriter, head: TaskHead): number {
  const start = to.begin(recordKinds.head);
  const { replyTo, policy } = head;
  to.number(head.id);
  to.byte(
    (head.key === undefined ? 0 : headBits.key) |
      (head.fingerprint === undefined ? 0 : headBits.fingerprint) |
      (replyTo === undefined ? 0 : headBits.replyTo) |
      (replyTo?.diesWithConnection ? headBits.diesWithConnection : 0) |
      (head.envelope === undefined ? 0 : headBits.envelope) |
      (head.notBefore === 0 ? 0 : headBits.notBefore) |
      (head.expiresAt === 0 ? 0 : headBits.expiresAt) |
      (head.relations === undefined ? 0 : headBits.relations),
  );
  to.string(head.queue);
  to.string(head.door);
  to.number(head.submittedAt);
  to.number(head.priority);
  to.number(policy.attempts);
  to.number(policy.failures);
  to.number(policy.attemptTimeoutMs);
  to.number(policy.waitingMsMax);
  if (head.key !== undefined) to.string(head.key);
  if (head.fingerprint !== undefined) to.string(head.fingerprint);
  if (replyTo !== undefined) to.string(replyTo.address);
  if (head.notBefore !== 0) to.number(head.notBefore);
  if (head.expiresAt !== 0) to.number(head.expiresAt);
  if (head.envelope !== undefined) to.blob(head.envelope);
  writeBody(to, head.payload);
  if (head.relations !== undefined) writeRelations(to, head.relations);
  return start;
}

export function readHead(from: RecordReader): TaskHead {
  const id = from.number() as TaskId;
  const bits = from.byte();
  const queue = from.name();
  const door = from.name();
  const submittedAt = from.number() as WallTime;
  const priority = from.number();
  const policy = policyOf(from.number(), from.number(), from.number(), from.number());
  const key = bits & headBits.key ? from.string() : undefined;
  const fingerprint = bits & headBits.fingerprint ? from.string() : undefined;
  const replyTo =
    bits & headBits.replyTo
      ? { address: from.string(), diesWithConnection: (bits & headBits.diesWithConnection) !== 0 }
      : undefined;
  const notBefore = (bits & headBits.notBefore ? from.number() : 0) as WallTime | 0;
  const expiresAt = (bits & headBits.expiresAt ? from.number() : 0) as WallTime | 0;
  const envelope = bits & headBits.envelope ? from.blob() : undefined;
  const payload = readBody(from);
  const relations = relationsIn(from, bits);
  from.finish();
  return {
    id,
    queue,
    priority,
    door,
    submittedAt,
    payload,
    policy,
    key,
    fingerprint,
    replyTo,
    envelope,
    notBefore,
    expiresAt,
    relations,
  };
}

function writeRelations(to: RecordWriter, relations: TaskRelations): void {
  const { after, ifFailed, group, schedule, retryOf, by } = relations;
  to.byte(
    (ifFailed === "run" ? relationBits.runIfFailed : 0) |
      (group === undefined ? 0 : relationBits.group) |
      (schedule === undefined ? 0 : relationBits.schedule) |
      (retryOf === undefined ? 0 : relationBits.retryOf) |
      (by === undefined ? 0 : relationBits.by),
  );
  to.number(after.length);
  for (const id of after) to.number(id);
  if (group !== undefined) to.string(group);
  if (schedule !== undefined) to.string(schedule);
  if (retryOf !== undefined) to.number(retryOf);
  if (by !== undefined) to.string(by);
}

/** Reads what may follow the payload. A head of version 1 may have the bit, and then ends there. */
export function relationsIn(from: RecordReader, bits: number): TaskRelations | undefined {
  return bits & headBits.relations && from.at < from.end ? readRelations(from) : undefined;
}

function readRelations(from: RecordReader): TaskRelations {
  const bits = from.byte();
  // Most tasks that have a principal have nothing else, and share one object.
  if (bits === relationBits.by && from.bytes[from.at] === 0) {
    from.number();
    return onlyBy(from.name());
  }
  const after: TaskId[] = [];
  for (let left = from.number(); left > 0; left--) after.push(from.number() as TaskId);
  return {
    after,
    ifFailed: bits & relationBits.runIfFailed ? "run" : "cancel",
    group: bits & relationBits.group ? from.name() : undefined,
    schedule: bits & relationBits.schedule ? from.name() : undefined,
    retryOf: bits & relationBits.retryOf ? (from.number() as TaskId) : undefined,
    ...(bits & relationBits.by ? { by: from.name() } : undefined),
  };
}

export function writeProgress(to: RecordWriter, progress: TaskProgress): number {
  const start = to.begin(recordKinds.progress);
  const { attempt, worker, startedAt, finishedAt, error, result, story, report } = progress;
  to.number(progress.id);
  to.byte(
    numberOfState(progress.state) |
      (report === undefined ? 0 : stateBits.report) |
      (error?.detail === undefined ? 0 : stateBits.detail) |
      (progress.told ? stateBits.told : 0) |
      (progress.recovering ? stateBits.recovering : 0),
  );
  to.byte(
    (attempt === undefined ? 0 : progressBits.attempt) |
      (worker === undefined ? 0 : progressBits.worker) |
      (startedAt === undefined ? 0 : progressBits.startedAt) |
      (finishedAt === undefined ? 0 : progressBits.finishedAt) |
      (error === undefined ? 0 : progressBits.error) |
      (result === undefined ? 0 : progressBits.result) |
      (story === undefined ? 0 : progressBits.story) |
      (progress.notBefore === 0 ? 0 : progressBits.notBefore),
  );
  to.number(progress.settled);
  to.number(progress.losses);
  to.number(progress.failures);
  if (attempt !== undefined) to.number(attempt);
  if (worker !== undefined) to.string(worker);
  if (startedAt !== undefined) to.number(startedAt);
  if (finishedAt !== undefined) to.number(finishedAt);
  if (progress.notBefore !== 0) to.number(progress.notBefore);
  if (error !== undefined) {
    to.string(error.code);
    to.string(error.message);
  }
  if (story !== undefined) writeStory(to, story);
  if (result !== undefined) writeBody(to, result);
  if (error?.detail !== undefined) to.string(error.detail);
  if (report !== undefined) writeReport(to, report);
  return start;
}

function writeReport(to: RecordWriter, { value, message, at }: TaskReport): void {
  to.byte((value === undefined ? 0 : reportBits.value) | (message === undefined ? 0 : reportBits.message));
  to.number(at);
  if (value !== undefined) to.string(value);
  if (message !== undefined) to.string(message);
}

function readReport(from: RecordReader): TaskReport {
  const bits = from.byte();
  const at = from.number() as WallTime;
  const value = bits & reportBits.value ? from.string() : undefined;
  return { value, message: bits & reportBits.message ? from.string() : undefined, at };
}

/** Reads past what may follow the result. */
export function skipAfterResult(from: RecordReader, states: number): void {
  if (states & stateBits.detail) from.skipString();
  if (states & stateBits.report) readReport(from);
}

/** The first fields of a progress record. */
export function peekProgress(from: RecordReader): { readonly id: TaskId; readonly settled: number } {
  const id = from.number() as TaskId;
  from.byte();
  from.byte();
  return { id, settled: from.number() };
}

export function readProgress(from: RecordReader): TaskProgress {
  const id = from.number() as TaskId;
  const states = from.byte();
  const bits = from.byte();
  const settled = from.number();
  const losses = from.number();
  const failures = from.number();
  const attempt = bits & progressBits.attempt ? (from.number() as AttemptNumber) : undefined;
  const worker = bits & progressBits.worker ? (from.name() as WorkerId) : undefined;
  const startedAt = bits & progressBits.startedAt ? (from.number() as WallTime) : undefined;
  const finishedAt = bits & progressBits.finishedAt ? (from.number() as WallTime) : undefined;
  const notBefore = (bits & progressBits.notBefore ? from.number() : 0) as WallTime | 0;
  const said = bits & progressBits.error ? { code: from.name(), message: from.string() } : undefined;
  const story = bits & progressBits.story ? readStory(from) : undefined;
  const result = bits & progressBits.result ? readBody(from) : undefined;
  const error = said && states & stateBits.detail ? { ...said, detail: from.string() } : said;
  const report = states & stateBits.report ? readReport(from) : undefined;
  from.finish();
  return {
    ...(report !== undefined && { report }),
    id,
    state: stateOf(states & stateBits.mask),
    attempt,
    worker,
    startedAt,
    finishedAt,
    losses,
    failures,
    notBefore,
    error,
    result,
    told: (states & stateBits.told) !== 0,
    settled,
    recovering: (states & stateBits.recovering) !== 0,
    story,
  };
}

function writeStory(to: RecordWriter, story: readonly StoryEntry[]): void {
  to.number(story.length);
  for (const { at, to: state, cause, attempt, worker } of story) {
    to.byte(
      numberOfState(state) |
        (attempt === undefined ? 0 : storyBits.attempt) |
        (worker === undefined ? 0 : storyBits.worker),
    );
    to.number(at);
    to.string(cause);
    if (attempt !== undefined) to.number(attempt);
    if (worker !== undefined) to.string(worker);
  }
}

export function readStory(from: RecordReader): StoryEntry[] {
  const story: StoryEntry[] = [];
  for (let left = from.number(); left > 0; left--) {
    const bits = from.byte();
    story.push({
      at: from.number() as WallTime,
      to: stateOf(bits & storyBits.mask),
      cause: from.name(),
      attempt: bits & storyBits.attempt ? (from.number() as AttemptNumber) : undefined,
      worker: bits & storyBits.worker ? (from.name() as WorkerId) : undefined,
    });
  }
  return story;
}

/** The size, then what follows: the bytes of a large body are stored out of line. */
function writeBody(to: RecordWriter, { mediaType, size, bytes, envelope }: Body): void {
  to.number(size);
  to.mediaType(mediaType);
  const isInline = bytes !== undefined && size <= to.bodyBytesMax;
  to.byte((isInline ? bodyBits.inline : 0) | (envelope === undefined ? 0 : bodyBits.envelope));
  if (envelope !== undefined) to.blob(envelope);
  if (!isInline) return;
  if (bytes.length !== size) throw new Error(`a body of ${bytes.length} bytes says that it has ${size}`);
  to.raw(bytes);
}

function readBody(from: RecordReader): Body {
  const size = from.number();
  const mediaType = from.mediaType();
  const bits = from.byte();
  const envelope = bits & bodyBits.envelope ? { envelope: from.blob() } : undefined;
  if ((bits & bodyBits.inline) === 0) return { mediaType, size, ...envelope };
  return { mediaType, size, bytes: from.raw(size), ...envelope };
}

function numberOfState(state: TaskStateName): number {
  return stateNumbers.get(state) as number;
}

export function stateOf(number: number): TaskStateName {
  const state = stateNames[number];
  if (state === undefined) throw new BadRecord(`no state has the number ${number}`);
  return state;
}

/** The policies read last: nearly all tasks use one of very few, and share the object. */
const policies: (TaskPolicy | undefined)[] = new Array(64).fill(undefined);

function policyOf(
  attempts: number,
  failures: number,
  attemptTimeoutMs: number,
  waitingMsMax: number,
): TaskPolicy {
  const place = (attempts * 31 + failures * 17 + attemptTimeoutMs * 7 + waitingMsMax) & (policies.length - 1);
  const known = policies[place];
  if (
    known !== undefined &&
    known.attempts === attempts &&
    known.failures === failures &&
    known.attemptTimeoutMs === attemptTimeoutMs &&
    known.waitingMsMax === waitingMsMax
  ) {
    return known;
  }
  const policy: TaskPolicy = { attempts, failures, attemptTimeoutMs, waitingMsMax };
  policies[place] = policy;
  return policy;
}
