// Client requests: submit and cancel. An admitted submission becomes a task here.

import { type Refusal, refuseKey, refuseQueue, refuseSubmission, taskWithKey } from "./admission.js";
import { bind, block } from "./dependencies.js";
import type { DoorState } from "./door-state.js";
import type { YardEvent } from "./events.js";
import { finish } from "./finishing.js";
import type { TaskId } from "./names.js";
import { makeReady, makeSleep } from "./placing.js";
import type { Queue } from "./queue.js";
import type { FinishedStateName, TaskHead, TaskPolicy } from "./records.js";
import { relationsOf } from "./relations.js";
import { revoke } from "./releasing.js";
import type { Submission } from "./submission.js";
import { Task } from "./task.js";
import { countWaiting } from "./task-place.js";
import { isFinished } from "./task-states.js";
import { instantOf, later } from "./time.js";
import { handleWatched } from "./watches.js";
import type { Yard } from "./yard.js";

type Submitted = Extract<YardEvent, { type: "task-submitted" }>;
type CancelAsked = Extract<YardEvent, { type: "cancel-asked" }>;

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
