// Whether a submission can be accepted now: the limits it meets, the key it repeats, and the words
// of each refusal.

import type { RefusalCode } from "./effects.js";
import type { KeyEntry } from "./keys.js";
import { queueNamePattern, type TaskId } from "./names.js";
import type { Queue } from "./queue.js";
import type { Submission } from "./submission.js";
import type { WallTime } from "./time.js";
import type { Yard } from "./yard.js";

export interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
  readonly task?: TaskId;
}

/** Explains why a known key does not stand for this submission; undefined if it does. */
export function refuseKey(
  queue: Queue,
  { key, fingerprint, task }: KeyEntry,
  submitted: string | undefined,
): Refusal | undefined {
  if (fingerprint === undefined || submitted === undefined || fingerprint === submitted) return undefined;
  const message = `Key "${key}" of queue ${queue.name} belongs to task ${task}, which has another payload.`;
  return { code: "key_conflict", message, task };
}

/** Explains why a queue of this name does not exist and cannot be created. */
export function refuseQueue(name: string): Refusal {
  if (queueNamePattern.test(name)) return { code: "queue_full", message: "There are too many queues." };
  return { code: "bad_request", message: `A queue's name must match ${queueNamePattern.source}.` };
}

/** The room that the other tasks of the same graph take in a queue. */
export interface QueueNeed {
  readonly tasks: number;
  readonly bytes: number;
}

const noNeed: QueueNeed = { tasks: 0, bytes: 0 };

export function refuseSubmission(
  yard: Yard,
  queue: Queue,
  submission: Submission,
  need = noNeed,
): Refusal | undefined {
  return (
    refuseAll(yard, queue, submission) ??
    refuseExcess(yard, submission) ??
    refuseForRoom(yard, queue, submission, need)
  );
}

/** The reason why nothing is accepted now. */
function refuseAll(yard: Yard, queue: Queue, submission: Submission): Refusal | undefined {
  if (yard.isClosing && submission.isAskedOnce !== true)
    return { code: "not_ready", message: "The dispatcher is stopping." };
  if (queue.isDraining) return { code: "not_ready", message: `Queue ${queue.name} is being drained.` };
  if (!yard.isShortOfMemory) return undefined;
  yard.limitReached("memoryBytes");
  return { code: "queue_full", message: "The dispatcher is short of memory (limits.memoryBytes)." };
}

/** What of this submission is too large or unknown, whatever the queue holds. */
function refuseExcess(yard: Yard, submission: Submission): Refusal | undefined {
  const { limits } = yard.options;
  if (submission.payload.size > limits.payloadBytes) {
    yard.limitReached("payloadBytes");
    return { code: "payload_too_large", message: `A payload has at most ${limits.payloadBytes} bytes.` };
  }
  if ((submission.key?.length ?? 0) > limits.keyLength) {
    yard.limitReached("keyLength");
    return { code: "bad_request", message: `A key has at most ${limits.keyLength} characters.` };
  }
  const unknown = submission.after === undefined ? undefined : refuseDependencies(yard, submission);
  if (unknown !== undefined) return unknown;
  if ((submission.group?.length ?? 0) > limits.groupLength || submission.group === "") {
    yard.limitReached("groupLength");
    return { code: "bad_request", message: `A group has 1 to ${limits.groupLength} characters.` };
  }
  return undefined;
}

/** What of the disk or of the queue is full. */
function refuseForRoom(
  yard: Yard,
  queue: Queue,
  { payload: { size } }: Submission,
  need: QueueNeed,
): Refusal | undefined {
  if (yard.shortage !== undefined) {
    yard.limitReached("diskRoom");
    return { code: "queue_full", message: yard.shortage };
  }
  const { maxWaiting, maxBytes } = queue.settings;
  if (queue.waiting + need.tasks >= maxWaiting) {
    yard.limitReached("queueLength");
    noteRefusal(queue, yard.now.wall);
    return {
      code: "queue_full",
      message: `Queue ${queue.name} holds ${queue.waiting} waiting tasks, its limit.`,
    };
  }
  if (queue.waitingBytes + need.bytes + size > maxBytes) {
    yard.limitReached("queueBytes");
    noteRefusal(queue, yard.now.wall);
    return {
      code: "queue_full",
      message: `Queue ${queue.name} has no room for ${size} bytes (limit ${maxBytes}).`,
    };
  }
  return undefined;
}

/** Refusals that follow each other within this time count as one series. */
const refusalRowMs = 60_000;

function noteRefusal(queue: Queue, now: WallTime): void {
  if (queue.refusedAt === undefined || now - queue.refusedAt > refusalRowMs) queue.refusingSince = now;
  queue.refusedAt = now;
}

/** Each dependency must be live, or the door must have read how it ended. */
function refuseDependencies(yard: Yard, { after = [], pastOutcomes = [] }: Submission): Refusal | undefined {
  const { dependencies } = yard.options.limits;
  if (after.length > dependencies) {
    yard.limitReached("dependencies");
    return { code: "bad_request", message: `A task depends on at most ${dependencies} tasks.` };
  }
  const past = new Set<number>(pastOutcomes.map(({ task }) => task));
  const unknown = after.find((id) => yard.tasks.get(id) === undefined && !past.has(id));
  return unknown === undefined ? undefined : unknownDependency(unknown);
}

export function unknownDependency(task: TaskId): Refusal {
  const message = `There is no task ${task}: it never existed, or retention has evicted it.`;
  return { code: "unknown_dependency", message, task };
}

/**
 * False if the task would be refused now, or if an earlier task has its key. Its payload need not
 * be stored then.
 */
export function admits(yard: Yard, submission: Submission): boolean {
  const { size } = submission.payload;
  const isShut = yard.isClosing && submission.isAskedOnce !== true;
  if (isShut || yard.isShortOfMemory || yard.shortage !== undefined) return false;
  if (size > yard.options.limits.payloadBytes) return false;
  const queue = yard.queues.get(submission.queue);
  if (queue === undefined) return true;
  if (queue.isDraining || taskWithKey(queue, submission) !== undefined) return false;
  const { maxWaiting, maxBytes } = queue.settings;
  return queue.waiting < maxWaiting && queue.waitingBytes + size <= maxBytes;
}

export function taskWithKey(queue: Queue, submission: Submission): KeyEntry | undefined {
  return submission.key === undefined ? undefined : queue.keys.get(submission.key);
}
