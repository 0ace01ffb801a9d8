// How a task ends: once, with one outcome. The outcome is then delivered to the client. When no
// delivery is pending, the task is settled: it moves from the core to history. Its key stays valid
// for a while.

import type { Bonds } from "./bonds.js";
import type { DoorState, Watch } from "./door-state.js";
import type { Outcome } from "./effects.js";
import type { Fifo } from "./fifo.js";
import type { History } from "./history.js";
import type { KeyEntry } from "./keys.js";
import type { Lease } from "./lease.js";
import { type Body, type FinishedStateName, storedBytes, type TaskError } from "./records.js";
import { retryDelayMs } from "./retry-policy.js";
import type { Task, TaskEnding } from "./task.js";
import { countWaiting, setPlace, unplace } from "./task-place.js";
import { moveTask } from "./task-states.js";
import { after, type Instant } from "./time.js";
import type { Yard } from "./yard.js";

/**
 * Larger results may lie only in the engine, where they are evicted together with their segment of
 * history. So a task with a larger result enters history only after its delivery.
 */
const aheadBytesMax = 4096;

/** Maximum number of tasks kept in memory until their corrected `told` is committed. */
const correctedMax = 256;

interface Finish {
  readonly result?: Body;
  readonly error?: TaskError;
  /** The attempt that ended the task, for the story. */
  readonly by?: Lease | undefined;
}

/** Ends a waiting task, or one whose lease was just released. Every task ends here. */
export function finish(yard: Yard, task: Task, state: FinishedStateName, cause: string, how: Finish): void {
  const running = task.state === "running" ? task.lease : undefined;
  if (task.state === "waiting") countWaiting(task, -1);
  else task.queue.running -= 1;
  moveTask(yard, task, state, cause, how.by);
  task.ending = {
    state,
    finishedAt: yard.now.wall,
    tellUntil: after(yard.now.instant, yard.options.replyTtlMs),
    result: how.result,
    error: how.error,
    // Recorded in advance, with the outcome, because delivery follows the commit at once. A failed
    // delivery is the exception, and is corrected.
    told:
      task.head.replyTo?.diesWithConnection === true &&
      (how.result?.size ?? 0) <= aheadBytesMax &&
      !isDependedOn(task),
    settled: 0,
    tellings: 0,
  };
  unplace(yard, task, "telling");
  yard.counters.outcomes.add(task.queue.label, state);
  task.queue.tally.finish(state, running?.worker?.door.name, yard.now.instant);
  yard.observer?.finished(task, task.ending, running, yard.now);
  ageKey(yard, task);
  answerWatches(yard, task);
  if (task.bonds !== undefined) endBonds(yard, task, task.bonds);
  if (task.head.replyTo === undefined) settle(yard, task);
  else beginTelling(yard, task);
}

/**
 * Settles the dependencies whose last dependent has ended with this task, and puts its own
 * dependents on the list of work.
 */
function endBonds(yard: Yard, task: Task, bonds: Bonds): void {
  for (const id of task.head.relations?.after ?? []) {
    const dependency = yard.tasks.get(id);
    const dependents = dependency?.bonds?.dependents;
    if (dependency === undefined || dependents?.delete(task) !== true || dependents.size > 0) continue;
    settleDepended(yard, dependency);
  }
  if (bonds.dependents.size === 0) return;
  bonds.isReleasing = true;
  const state = task.state as FinishedStateName;
  yard.releases.push({ task, id: task.head.id, state, dependents: [...bonds.dependents], next: 0 });
}

function beginTelling(yard: Yard, task: Task): void {
  const untold = yard.untold.of(task.head.door);
  untold.add(task);
  if (untold.size > yard.options.limits.untold) {
    yard.limitReached("untold");
    const { first: oldest } = untold;
    if (oldest !== undefined && oldest !== task) giveUpTelling(yard, oldest);
  }
  armTellingEnd(yard);
  if ((task.ending as TaskEnding).told) enterHistory(yard, task);
  tell(yard, task);
}

/**
 * Delivers the outcome. It counts as undelivered until the door confirms it or its time is over.
 */
export function tell(yard: Yard, task: Task): void {
  const ending = task.ending as TaskEnding;
  const { state, result, error } = ending;
  const { door } = task.head;
  ending.tellings += 1;
  yard.counters.tellings.add(door);
  yard.step.effects.push({ type: "tell", door, task: task.head, outcome: { state, result, error } });
}

/** One deadline serves all: that of the first delivery whose time is over. */
export function armTellingEnd(yard: Yard): void {
  if (yard.tellingEnd.isArmed) return;
  let first: Instant | undefined;
  for (const { first: oldest } of yard.untold.doors()) {
    const until = oldest?.ending?.tellUntil;
    if (until !== undefined && (first === undefined || until < first)) first = until;
  }
  if (first !== undefined) yard.deadlines.arm(yard.tellingEnd, first);
}

/** Gives up the deliveries whose time is over. */
export function endTellings(yard: Yard): void {
  for (const untold of yard.untold.doors()) {
    for (const task of untold) {
      if ((task.ending as TaskEnding).tellUntil > yard.now.instant) break;
      giveUpTelling(yard, task);
    }
  }
  armTellingEnd(yard);
}

export function handleTold(yard: Yard, door: DoorState, task: Task | undefined): void {
  if (task?.ending === undefined || task.place !== "telling" || task.head.door !== door.name) return;
  if (task.ending.told) return leave(yard, task);
  task.ending.told = true;
  settle(yard, task);
}

/**
 * Retries the delivery later. If the client is gone, the outcome stays readable; if the client may
 * come back, it stays deliverable until its time is over.
 */
export function handleUndelivered(yard: Yard, door: DoorState, task: Task | undefined, again: boolean): void {
  if (task?.ending === undefined || task.place !== "telling" || task.head.door !== door.name) return;
  if (!again) {
    if (task.head.replyTo?.diesWithConnection === true) giveUpTelling(yard, task);
    return;
  }
  const delayMs = retryDelayMs(task.ending.tellings + 1, yard.options.random());
  // The task no longer waits, so its wake-up deadline is free for this.
  const deadline = task.wake?.subject.type === "tell" ? task.wake : undefined;
  task.wake = yard.armed(deadline, { type: "tell", task }, after(yard.now.instant, delayMs));
}

/** At a stop: a delivery over a connection that has not succeeded by now never will. */
export function endTellingsAhead(yard: Yard): void {
  for (const task of yard.untold) {
    if (task.ending?.told === true && task.wake?.isArmed === true) giveUpTelling(yard, task);
  }
}

/** Corrects a `told` that was recorded in advance. */
function giveUpTelling(yard: Yard, task: Task): void {
  (task.ending as TaskEnding).told = false;
  yard.observer?.undelivered(task, yard.now);
  settle(yard, task);
}

/**
 * Repeats every undelivered outcome, unchanged, after a crash or when the door opens with a new
 * incarnation.
 */
export function tellAgain(yard: Yard, door: DoorState): void {
  for (const task of yard.untold.of(door.name)) tell(yard, task);
}

/** No delivery is pending: the task moves to history, unless others depend on it. */
function settle(yard: Yard, task: Task): void {
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

function enterHistory(yard: Yard, task: Task): void {
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
function leave(yard: Yard, task: Task): void {
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

function ageKey(yard: Yard, task: Task): void {
  const { key, fingerprint, id } = task.head;
  if (key === undefined) return;
  const entry = task.queue.keys.get(key);
  if (entry === undefined || entry.task !== id) return;
  const finishedAt = yard.now.wall;
  entry.expiresAt = after(yard.now.instant, yard.options.keyTtlMs);
  yard.step.change({ kind: "key", key: { queue: task.queue.name, key, task: id, fingerprint, finishedAt } });
  yard.finishedKeys.add(entry);
  if (yard.finishedKeys.size > yard.options.limits.finishedKeys) {
    yard.limitReached("finishedKeys");
    dropOldestKey(yard);
  }
  armKeys(yard);
}

/** Forgets expired keys. */
export function forgetKeys(yard: Yard): void {
  for (;;) {
    const oldest = yard.finishedKeys.oldest();
    if (oldest?.expiresAt === undefined || oldest.expiresAt > yard.now.instant) break;
    dropOldestKey(yard);
  }
  armKeys(yard);
}

function dropOldestKey(yard: Yard): void {
  const entry: KeyEntry | undefined = yard.finishedKeys.dropOldest();
  if (entry === undefined) return;
  yard.step.change({ kind: "key-gone", queue: entry.queue.name, key: entry.key, task: entry.task });
  yard.dropIfEmpty(entry.queue);
}

export function armKeys(yard: Yard): void {
  const oldest = yard.finishedKeys.oldest();
  if (oldest?.expiresAt !== undefined) yard.deadlines.arm(yard.keysDeadline, oldest.expiresAt);
}

function answerWatches(yard: Yard, task: Task): void {
  const watches = yard.watches.get(task.head.id);
  if (watches === undefined) return;
  const { state, result, error } = task.ending as TaskEnding;
  const outcome: Outcome = { state, result, error };
  for (const watch of [...watches]) endWatch(yard, watch, true, outcome);
}

/** Answers a request that waited for the outcome. */
export function endWatch(yard: Yard, watch: Watch, finished: boolean, outcome?: Outcome): void {
  dropWatch(yard, watch);
  const { task } = watch;
  yard.reply(watch.door, watch.request, { type: "watched", task, finished, ...(outcome && { outcome }) });
}

export function dropWatch(yard: Yard, watch: Watch): void {
  yard.disarm(watch.deadline);
  watch.door.watches.delete(watch.request);
  const watches = yard.watches.get(watch.task);
  watches?.delete(watch);
  if (watches?.size === 0) yard.watches.delete(watch.task);
}
