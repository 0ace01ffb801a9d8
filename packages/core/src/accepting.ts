// What askers want: to have a task done, to have it cancelled, to hear how it ended; and what operators say of a queue.

import { lift } from "./attempts.js";
import type { DoorState, Watch } from "./door-state.js";
import type { RefusalCode } from "./effects.js";
import type { Submission, YardEvent } from "./events.js";
import { endWatch, finish } from "./finishing.js";
import { queueNamePattern, type TaskId } from "./names.js";
import { askForBalance, countWaiting, makeReady, makeSleep, serveQueue } from "./placing.js";
import type { Queue } from "./queue.js";
import type { TaskHead, TaskPolicy } from "./records.js";
import { Task } from "./task.js";
import { isFinished } from "./task-states.js";
import { after, instantOf, later } from "./time.js";
import type { Yard } from "./yard.js";

type Submitted = Extract<YardEvent, { type: "task-submitted" }>;
type CancelAsked = Extract<YardEvent, { type: "cancel-asked" }>;
type Watched = Extract<YardEvent, { type: "task-watched" }>;
type OrderGiven = Extract<YardEvent, { type: "queue-order-given" }>;

interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
  readonly task?: TaskId;
}

export function handleSubmitted(yard: Yard, door: DoorState, event: Submitted): void {
  const { submission, request } = event;
  const queue = yard.queue(submission.queue, door);
  if (queue === undefined) {
    refuse(yard, door, event, refuseQueue(submission.queue));
    return;
  }
  const known = submission.key === undefined ? undefined : queue.keys.get(submission.key);
  if (known !== undefined) {
    const isSame =
      known.fingerprint === undefined ||
      submission.fingerprint === undefined ||
      known.fingerprint === submission.fingerprint;
    if (isSame) yard.reply(door, request, { type: "accepted", task: known.task, existing: true });
    else {
      const message = `Key "${known.key}" of queue ${queue.name} belongs to task ${known.task}, which has another payload.`;
      refuse(yard, door, event, { code: "key_conflict", message, task: known.task });
    }
    return;
  }
  const refusal = refuseSubmission(yard, queue, submission);
  if (refusal !== undefined) {
    refuse(yard, door, event, refusal);
    yard.dropIfEmpty(queue);
    return;
  }
  const task = accept(yard, door, queue, submission);
  if (request !== undefined)
    yard.reply(door, request, { type: "accepted", task: task.head.id, existing: false });
}

/** Says so to the request, or, where the dialect has none, to where the outcome would have gone. */
function refuse(yard: Yard, door: DoorState, { request, submission }: Submitted, refusal: Refusal): void {
  if (request !== undefined) yard.reply(door, request, { type: "refused", ...refusal });
  else if (submission.replyTo !== undefined) {
    const { code, message } = refusal;
    yard.step.effects.push({ type: "refuse", door: door.name, submission, code, message });
  }
}

/** Why there is no queue of this name, and will be none. */
export function refuseQueue(name: string): Refusal {
  if (queueNamePattern.test(name)) return { code: "queue_full", message: "There are too many queues." };
  return { code: "bad_request", message: `A queue's name must match ${queueNamePattern.source}.` };
}

function refuseSubmission(yard: Yard, queue: Queue, submission: Submission): Refusal | undefined {
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
  if (yard.shortage !== undefined) {
    yard.limitReached("diskRoom");
    return { code: "queue_full", message: yard.shortage };
  }
  if (queue.waiting >= queue.settings.maxWaiting) {
    yard.limitReached("queueLength");
    return {
      code: "queue_full",
      message: `Queue ${queue.name} holds ${queue.waiting} waiting tasks, its limit.`,
    };
  }
  if (queue.waitingBytes + size > queue.settings.maxBytes) {
    yard.limitReached("queueBytes");
    return {
      code: "queue_full",
      message: `Queue ${queue.name} has no room for ${size} bytes (limit ${queue.settings.maxBytes}).`,
    };
  }
  return undefined;
}

function accept(yard: Yard, door: DoorState, queue: Queue, submission: Submission): Task {
  const { now } = yard;
  const delayMs = submission.delayMs ?? 0;
  yard.lastTask += 1;
  const head: TaskHead = {
    id: yard.lastTask as TaskId,
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
  };
  yard.step.accept(head);
  yard.counters.submitted.add(queue.label);
  const task = enter(yard, queue, head);
  if (head.expiresAt !== 0) task.expiresAt = instantOf(head.expiresAt, now);
  if (delayMs > 0) makeSleep(yard, task, "delayed", delayMs);
  else makeReady(yard, task, "last");
  return task;
}

/** Takes a task into the tables, new or from before a restart; where it goes next is the caller's business. */
export function enter(yard: Yard, queue: Queue, head: TaskHead): Task {
  const task = new Task(head, queue);
  yard.tasks.add(task);
  countWaiting(task, 1);
  const { key, fingerprint } = head;
  if (key !== undefined)
    queue.keys.set(key, { queue, key, task: head.id, fingerprint, expiresAt: undefined });
  return task;
}

/** The queue's own policy object where nothing differs: a million tasks share it. */
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

/** A waiting task ends at once. A running one ends at once too: its lease is lifted, and what comes back is ignored. */
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
  const { lease } = task;
  const isRunning = task.state === "running" && lease !== undefined;
  if (isRunning) lift(yard, lease, "cancelled");
  const by = yard.bounded(event.by);
  finish(yard, task, "cancelled", `cancelled by ${by}`, {
    error: { code: "cancelled", message: `Cancelled by ${by}.` },
    by: isRunning ? lease : undefined,
  });
  yard.reply(door, event.request, { type: "granted", task: event.task });
}

/** Waits for a task's outcome. A task that is not live has one, if it ever was. */
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

/** A queue that is configured, or a door's own, is there before anybody uses it. */
function isThere({ queues, options }: Yard, name: string): boolean {
  return queues.has(name) || options.queues.has(name);
}

export function handleOrder(yard: Yard, door: DoorState, event: OrderGiven): void {
  if (event.mustExist === true && !isThere(yard, event.queue)) {
    const message = `There is no queue ${event.queue} now.`;
    yard.reply(door, event.request, { type: "refused", code: "not_found", message });
    return;
  }
  const queue = yard.queue(event.queue, door);
  if (queue === undefined) {
    yard.reply(door, event.request, { type: "refused", ...refuseQueue(event.queue) });
    return;
  }
  if (event.order === "pause") queue.isPaused = true;
  else if (event.order === "drain") queue.isDraining = true;
  else {
    queue.isPaused = false;
    queue.isDraining = false;
  }
  const { name, isPaused: paused, isDraining: draining } = queue;
  if (paused || draining) yard.step.change({ kind: "queue", queue: { name, paused, draining } });
  else yard.step.change({ kind: "queue-gone", name });
  serveQueue(yard, queue);
  askForBalance(yard, queue);
  yard.reply(door, event.request, { type: "granted" });
  yard.dropIfEmpty(queue);
}
