// A task's two records as bytes. Both begin with the id, so that a record under another task's key is seen to be wrong.
// What most tasks lack costs a bit, not a byte.

import type {
  AttemptNumber,
  Body,
  StoryEntry,
  TaskHead,
  TaskId,
  TaskPolicy,
  TaskProgress,
  TaskStateName,
  WallTime,
  WorkerId,
} from "@yardmaster/core";
import { BadRecord, recordKinds } from "./record-form.js";
import type { RecordReader } from "./record-reader.js";
import type { RecordWriter } from "./record-writer.js";

/** By their number in a record: only ever add at the end. */
const stateNames: readonly TaskStateName[] = ["waiting", "running", "done", "failed", "cancelled", "expired"];
const stateNumbers = new Map(stateNames.map((name, number) => [name, number]));

export const headBits = {
  key: 1,
  fingerprint: 2,
  replyTo: 4,
  // 8 was used once.
  envelope: 16,
  notBefore: 32,
  expiresAt: 64,
  isFleeting: 128,
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
/** Beside the state, in one byte with it. */
export const stateBits = { mask: 7, told: 8, recovering: 16 } as const;
const storyBits = { mask: 7, attempt: 8, worker: 16 } as const;

/** Where the record begins in the writer's buffer; it ends where the writer stands. */
export function writeHead(to: RecordWriter, head: TaskHead): number {
  const start = to.begin(recordKinds.head);
  const { replyTo, policy } = head;
  to.number(head.id);
  to.byte(
    (head.key === undefined ? 0 : headBits.key) |
      (head.fingerprint === undefined ? 0 : headBits.fingerprint) |
      (replyTo === undefined ? 0 : headBits.replyTo) |
      (replyTo?.isFleeting ? headBits.isFleeting : 0) |
      (head.envelope === undefined ? 0 : headBits.envelope) |
      (head.notBefore === 0 ? 0 : headBits.notBefore) |
      (head.expiresAt === 0 ? 0 : headBits.expiresAt),
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
      ? { address: from.string(), isFleeting: (bits & headBits.isFleeting) !== 0 }
      : undefined;
  const notBefore = (bits & headBits.notBefore ? from.number() : 0) as WallTime | 0;
  const expiresAt = (bits & headBits.expiresAt ? from.number() : 0) as WallTime | 0;
  const envelope = bits & headBits.envelope ? from.blob() : undefined;
  const payload = readBody(from);
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
  };
}

export function writeProgress(to: RecordWriter, progress: TaskProgress): number {
  const start = to.begin(recordKinds.progress);
  const { attempt, worker, startedAt, finishedAt, error, result, story } = progress;
  to.number(progress.id);
  to.byte(
    numberOfState(progress.state) |
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
  return start;
}

/** What a progress record begins with. */
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
  const error = bits & progressBits.error ? { code: from.name(), message: from.string() } : undefined;
  const story = bits & progressBits.story ? readStory(from) : undefined;
  const result = bits & progressBits.result ? readBody(from) : undefined;
  from.finish();
  return {
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

/** Size first, then whether the bytes follow: those of a large body lie elsewhere. */
function writeBody(to: RecordWriter, { mediaType, size, bytes }: Body): void {
  to.number(size);
  to.mediaType(mediaType);
  if (bytes === undefined || size > to.bodyBytesMax) return to.byte(0);
  if (bytes.length !== size) throw new Error(`a body of ${bytes.length} bytes says that it has ${size}`);
  to.byte(1);
  to.raw(bytes);
}

function readBody(from: RecordReader): Body {
  const size = from.number();
  const mediaType = from.mediaType();
  return from.byte() === 0 ? { mediaType, size } : { mediaType, size, bytes: from.raw(size) };
}

function numberOfState(state: TaskStateName): number {
  return stateNumbers.get(state) as number;
}

export function stateOf(number: number): TaskStateName {
  const state = stateNames[number];
  if (state === undefined) throw new BadRecord(`no state has the number ${number}`);
  return state;
}

/** The policies read last: nearly all tasks have one of very few, and those of a kind share it. */
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
