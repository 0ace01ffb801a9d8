// How a finished task leaves the core for history: once no delivery is pending and no other task
// depends on it. Retention trims history.

import type { Fifo } from "./fifo.js";
import type { History } from "./history.js";
import { storedBytes } from "./history-segment.js";
import type { Task, TaskEnding } from "./task.js";
import { setPlace } from "./task-place.js";
import type { Yard } from "./yard.js";

/** Maximum number of tasks kept in memory until their corrected `told` is committed. */
const correctedMax = 256;

/** No delivery is pending: the task moves to history, unless others depend on it. */
export function settle(yard: Yard, task: Task): void {
  if (task.ending?.settled === 0) {
    if (isDependedOn(task)) return keepForDependents(yard, task);
    enterHistory(yard, task);
  }
  yard.step.touch(task);
  leave(yard, task);
}

export function isDependedOn({ bonds }: Task): boolean {
  return bonds !== undefined && bonds.dependents.size > 0;
}

/** Keeps the task unsettled, where retention cannot evict it, until its dependents have ended. */
function keepForDependents(yard: Yard, task: Task): void {
  yard.disarm(task.wake);
  if (task.head.replyTo !== undefined) yard.untold.remove(task);
  yard.step.touch(task);
  keepDepended(yard, task);
}

export function keepDepended(yard: Yard, task: Task): void {
  setPlace(yard, task, "depended");
  yard.depended.add(task);
  if (yard.depended.size <= yard.options.limits.dependedOn) return;
  yard.limitReached("dependedOn");
  const { first: oldest } = yard.depended;
  // Only once its dependents know of its end: after a restart, a task in history counts as done.
  if (oldest !== undefined && oldest.bonds?.isReleasing !== true) enterHistoryLate(yard, oldest);
}

/** The last task that depended on this one has ended. */
export function settleDepended(yard: Yard, task: Task): void {
  if (task.place === "depended") enterHistoryLate(yard, task);
}

function enterHistoryLate(yard: Yard, task: Task): void {
  enterHistory(yard, task);
  yard.step.touch(task);
  leave(yard, task);
}

export function enterHistory(yard: Yard, task: Task): void {
  const ending = task.ending as TaskEnding;
  const history = historyOf(yard, task);
  ending.settled = history.add(storedBytes(task.head, ending.result), yard.now.instant);
  trim(yard, history);
  armTrim(yard);
}

function historyOf(yard: Yard, { queue }: Task): History {
  const history = yard.histories.historyFor(queue, yard.step);
  if (history !== undefined) return history;
  yard.limitReached("histories");
  return yard.histories.common;
}

/** The task's last record is in the step: it leaves the core. */
export function leave(yard: Yard, task: Task): void {
  yard.disarm(task.wake);
  if (task.place === "depended") yard.depended.remove(task);
  else if (task.head.replyTo !== undefined) yard.untold.remove(task);
  const mayBeAnswered = task.losses > 0 || task.lease?.isRevoked === true;
  // A lost attempt may still answer, and that answer belongs in the story.
  if (mayBeAnswered) linger(yard, task, yard.lingering, yard.options.limits.lingering);
  else if (isCorrected(task)) linger(yard, task, yard.corrected, correctedMax);
  else evict(yard, task);
  yard.dropIfEmpty(task.queue);
}

/**
 * The store says `told`, but the client was not reached. Keep the task until the correction is
 * committed.
 */
function isCorrected({ head, ending }: Task): boolean {
  return head.replyTo?.diesWithConnection === true && ending?.told === false;
}

function linger(yard: Yard, task: Task, others: Fifo<Task>, max: number): void {
  setPlace(yard, task, "lingering");
  others.push(task);
  if (others.size <= max) return;
  const oldest = others.shift();
  if (oldest !== undefined) evict(yard, oldest);
}

function evict(yard: Yard, task: Task): void {
  setPlace(yard, task, "gone");
  yard.tasks.delete(task.head.id);
  // Otherwise the step that records it does this.
  if (task.step === undefined) task.forget();
}

export function trimHistory(yard: Yard): void {
  for (const history of yard.histories.all()) trim(yard, history);
  yard.histories.freeLanes(yard.step);
  armTrim(yard);
}

function trim(yard: Yard, history: History): void {
  for (;;) {
    const through = history.trim(yard.now.instant);
    if (through === undefined) return;
    yard.step.change({ kind: "history-trimmed", through });
  }
}

function armTrim(yard: Yard): void {
  const next = yard.histories.nextTrim();
  if (next !== undefined) yard.deadlines.arm(yard.retentionDeadline, next);
}
