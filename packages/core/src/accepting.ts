// Client requests (submit, cancel, wait for an outcome) and operators' orders to a queue.

import { revoke } from "./attempts.js";
import { bind, block } from "./dependencies.js";
import type { DoorState, Watch } from "./door-state.js";
import type { RefusalCode } from "./effects.js";
import type { Submission, YardEvent } from "./events.js";
import { endWatch, finish } from "./finishing.js";
import type { KeyEntry } from "./keys.js";
import { queueNamePattern, type TaskId } from "./names.js";
import { askForBalance, makeReady, makeSleep, serveQueue } from "./placing.js";
import type { Queue } from "./queue.js";
import type { FinishedStateName, TaskHead, TaskPolicy } from "./records.js";
import { relationsOf } from "./relations.js";
import { Task } from "./task.js";
import { countWaiting } from "./task-place.js";
import { isFinished } from "./task-states.js";
import { after, instantOf, later, type WallTime } from "./time.js";
import type { Yard } from "./yard.js";

type Submitted = Extract<YardEvent, { type: "task-submitted" }>;
type CancelAsked = Extract<YardEvent, { type: "cancel-asked" }>;
type Watched = Extract<YardEvent, { type: "task-watched" }>;
type OrderGiven = Extract<YardEvent, { type: "queue-order-given" }>;

export interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
  readonly task?: TaskId;
}

/**
 * Submits a task of the dispatcher itself, for a schedule or a bulk action. If the key is known,
 * returns the task that has it.
 */
export function submitOwn(
  yard: Yard,
  door: DoorState,
  submission: Submission,
): Refusal | { readonly task: TaskId } {
  const queue = yard.queue(submission.queue, door);
  if (queue === undefined) return refuseQueue(submission.queue);
  const known = taskWithKey(queue, submission);
  if (known !== undefined) return { task: known.task };
  const refusal = refuseSubmission(yard, queue, submission);
  if (refusal === undefined) return { task: accept(yard, door, queue, submission).head.id };
  yard.dropIfEmpty(queue);
  return refusal;
}

export function handleSubmitted(yard: Yard, door: DoorState, event: Submitted): void {
  const { submission, request } = event;
  const queue = yard.queue(submission.queue, door, submission.host);
  if (queue === undefined) {
    refuse(yard, door, event, refuseQueue(submission.queue));
    return;
  }
  const known = taskWithKey(queue, submission);
  if (known !== undefined) {
    const conflict = refuseKey(queue, known, submission.fingerprint);
    if (conflict !== undefined) refuse(yard, door, event, conflict);
    else {
      yard.reply(door, request, { type: "accepted", task: known.task, existing: true });
      watchSubmitted(yard, door, event, known.task);
    }
    return;
  }
  const refusal = refuseSubmission(yard, queue, submission);
  if (refusal !== undefined) {
    refuse(yard, door, event, refusal);
    yard.dropIfEmpty(queue);
    return;
  }
  const task = accept(yard, door, queue, submission, event.id);
  if (request !== undefined)
    yard.reply(door, request, { type: "accepted", task: task.head.id, existing: false });
  watchSubmitted(yard, door, event, task.head.id);
}

function watchSubmitted(yard: Yard, door: DoorState, { watch }: Submitted, task: TaskId): void {
  if (watch !== undefined) handleWatched(yard, door, { type: "task-watched", task, ...watch });
}

function taskWithKey(queue: Queue, submission: Submission): KeyEntry | undefined {
  return submission.key === undefined ? undefined : queue.keys.get(submission.key);
}

/**
 * Answers the request. A dialect without requests gets the refusal where the outcome would have
 * gone.
 */
function refuse(
  yard: Yard,
  door: DoorState,
  { request, submission, watch }: Submitted,
  refusal: Refusal,
): void {
  if (watch !== undefined) yard.reply(door, watch.request, { type: "refused", ...refusal });
  if (request !== undefined) yard.reply(door, request, { type: "refused", ...refusal });
  else if (submission.replyTo !== undefined) {
    const { code, message } = refusal;
    yard.step.effects.push({ type: "refuse", door: door.name, submission, code, message });
  }
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
  const { limits } = yard.options;
  const { size } = submission.payload;
  if (yard.isClosing && submission.isAskedOnce !== true)
    return { code: "not_ready", message: "The dispatcher is stopping." };
  if (queue.isDraining) return { code: "not_ready", message: `Queue ${queue.name} is being drained.` };
  if (yard.isShortOfMemory) {
    yard.limitReached("memoryBytes");
    return { code: "queue_full", message: "The dispatcher is short of memory (limits.memoryBytes)." };
  }
  if (size > limits.payloadBytes) {
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
  if (yard.shortage !== undefined) {
    yard.limitReached("diskRoom");
    return { code: "queue_full", message: yard.shortage };
  }
  if (queue.waiting + need.tasks >= queue.settings.maxWaiting) {
    yard.limitReached("queueLength");
    noteRefusal(queue, yard.now.wall);
    return {
      code: "queue_full",
      message: `Queue ${queue.name} holds ${queue.waiting} waiting tasks, its limit.`,
    };
  }
  if (queue.waitingBytes + need.bytes + size > queue.settings.maxBytes) {
    yard.limitReached("queueBytes");
    noteRefusal(queue, yard.now.wall);
    return {
      code: "queue_full",
      message: `Queue ${queue.name} has no room for ${size} bytes (limit ${queue.settings.maxBytes}).`,
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

export function accept(
  yard: Yard,
  door: DoorState,
  queue: Queue,
  submission: Submission,
  id = yard.nextTask(),
): Task {
  const { now } = yard;
  const delayMs = submission.delayMs ?? 0;
  const head: TaskHead = {
    id,
    queue: queue.name,
    priority: submission.priority ?? 0,
    door: door.name,
    submittedAt: now.wall,
    payload: submission.payload,
    policy: policyFor(queue, submission),
    key: submission.key,
    fingerprint: submission.key === undefined ? undefined : submission.fingerprint,
    replyTo: submission.replyTo,
    envelope: submission.envelope,
    notBefore: delayMs > 0 ? later(now.wall, delayMs) : 0,
    expiresAt: submission.expiresAt ?? 0,
    relations: relationsOf(submission),
  };
  yard.step.accept(head);
  yard.counters.submitted.add(queue.label);
  queue.tally.accept(door.name, now.instant);
  const task = enter(yard, queue, head);
  if (head.expiresAt !== 0) task.expiresAt = instantOf(head.expiresAt, now);
  if (submission.after !== undefined && isBlocked(yard, task, submission)) return task;
  if (delayMs > 0) makeSleep(yard, task, "delayed", delayMs);
  else makeReady(yard, task, "last");
  return task;
}

/** True if it has to wait for other tasks, or has ended because one of them failed. */
function isBlocked(yard: Yard, task: Task, { pastOutcomes }: Submission): boolean {
  const past = new Map<number, FinishedStateName>(pastOutcomes?.map(({ task: id, state }) => [id, state]));
  bind(yard, task, (id) => past.get(id));
  return block(yard, task) !== undefined;
}

/** Adds a new or restored task to the tables. The caller decides where it waits. */
export function enter(yard: Yard, queue: Queue, head: TaskHead): Task {
  const task = new Task(head, queue);
  yard.tasks.add(task);
  countWaiting(task, 1);
  const group = head.relations?.group;
  if (group !== undefined) task.group = queue.groups.join(group);
  const { key, fingerprint } = head;
  if (key !== undefined)
    queue.keys.set(key, { queue, key, task: head.id, fingerprint, expiresAt: undefined });
  return task;
}

/** Returns the queue's own policy object when nothing differs, so that a million tasks share it. */
function policyFor(queue: Queue, submission: Submission): TaskPolicy {
  const { policy } = queue;
  const { attempts = policy.attempts, failures = policy.failures } = submission;
  const { attemptTimeoutMs = policy.attemptTimeoutMs, waitingMsMax = policy.waitingMsMax } = submission;
  const isSame =
    attempts === policy.attempts &&
    failures === policy.failures &&
    attemptTimeoutMs === policy.attemptTimeoutMs &&
    waitingMsMax === policy.waitingMsMax;
  return isSame ? policy : { attempts, failures, attemptTimeoutMs, waitingMsMax };
}

/**
 * Ends the task at once, waiting or running. The lease of a running task is revoked, and later
 * answers to it are ignored.
 */
export function handleCancelAsked(yard: Yard, door: DoorState, event: CancelAsked): void {
  const task = yard.tasks.get(event.task);
  if (task === undefined || isFinished(task.state)) {
    const code = task === undefined ? "not_found" : "wrong_state";
    const message =
      task === undefined
        ? `There is no live task ${event.task}.`
        : `Task ${event.task} is ${task.state} already.`;
    yard.reply(door, event.request, { type: "refused", code, message, task: event.task });
    return;
  }
  cancel(yard, task, yard.bounded(event.by));
  yard.reply(door, event.request, { type: "granted", task: event.task });
}

/** Ends a task that has not finished. */
export function cancel(yard: Yard, task: Task, by: string): void {
  const { lease } = task;
  const isRunning = task.state === "running" && lease !== undefined;
  if (isRunning) revoke(yard, lease, "cancelled");
  finish(yard, task, "cancelled", `cancelled by ${by}`, {
    error: { code: "cancelled", message: `Cancelled by ${by}.` },
    by: isRunning ? lease : undefined,
  });
}

/** Waits for a task's outcome. A task that is not live is already finished, if it ever existed. */
export function handleWatched(yard: Yard, door: DoorState, event: Watched): void {
  const task = yard.tasks.get(event.task);
  const watch: Watch = { door, request: event.request, task: event.task, deadline: undefined };
  if (task === undefined || isFinished(task.state)) {
    endWatch(yard, watch, true);
    return;
  }
  if (event.forMs <= 0 || door.watches.size >= yard.options.limits.waitingRequests) {
    if (event.forMs > 0) yard.limitReached("waitingRequests");
    endWatch(yard, watch, false);
    return;
  }
  watch.deadline = yard.armed(undefined, { type: "watch", watch }, after(yard.now.instant, event.forMs));
  door.watches.set(event.request, watch);
  const watches = yard.watches.get(event.task) ?? new Set<Watch>();
  yard.watches.set(event.task, watches.add(watch));
}

/** True for configured queues and the doors' own queues too, which exist before their first use. */
export function isThere({ queues, options }: Yard, name: string): boolean {
  return queues.has(name) || options.queues.has(name);
}

function giveOrder(queue: Queue, { order, by }: OrderGiven, now: WallTime): void {
  if (order === "drain") queue.isDraining = true;
  else if (order === "resume") {
    queue.isPaused = false;
    queue.isDraining = false;
  } else if (!queue.isPaused) {
    queue.isPaused = true;
    queue.pausedAt = now;
    queue.pausedBy = by;
  }
}

export function handleOrder(yard: Yard, door: DoorState, event: OrderGiven): void {
  if (event.mustExist === true && !isThere(yard, event.queue)) {
    const message = `There is no queue ${event.queue} now.`;
    yard.reply(door, event.request, { type: "refused", code: "not_found", message });
    return;
  }
  const queue = yard.queue(event.queue, door, event.host);
  if (queue === undefined) {
    yard.reply(door, event.request, { type: "refused", ...refuseQueue(event.queue) });
    return;
  }
  giveOrder(queue, event, yard.now.wall);
  const { name, isPaused: paused, isDraining: draining } = queue;
  if (paused || draining) yard.step.change({ kind: "queue", queue: { name, paused, draining } });
  else yard.step.change({ kind: "queue-gone", name });
  serveQueue(yard, queue);
  askForBalance(yard, queue);
  yard.reply(door, event.request, { type: "granted" });
  yard.dropIfEmpty(queue);
}
