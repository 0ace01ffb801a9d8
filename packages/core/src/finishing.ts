// How a task ends: once, with one outcome. Then its asker is told, and when nobody has to be told any more it is settled:
// it leaves the core for history. Its key lives on for a while.

import type { DoorState, Watch } from "./door-state.js";
import type { Fifo } from "./fifo.js";
import type { KeyEntry } from "./keys.js";
import type { Lease } from "./lease.js";
import { countWaiting, setPlace, unplace } from "./placing.js";
import { type Body, type FinishedStateName, storedBytes, type TaskError } from "./records.js";
import { retryDelayMs } from "./retry-policy.js";
import type { Ending, Task } from "./task.js";
import { moveTask } from "./task-states.js";
import { after } from "./time.js";
import type { Yard } from "./yard.js";

/**
 * Up to this a result stays in memory until it is told. A larger one may lie in the engine, and go with its segment of
 * history: it enters that when it was told.
 */
const aheadBytesMax = 4096;

/** So many are asked for here until it is safe that they were not told. */
const correctedMax = 256;

interface Finish {
  readonly result?: Body;
  readonly error?: TaskError;
  /** The attempt that ended it, for the story. */
  readonly by?: Lease | undefined;
}

/** Ends a task that waits, or whose lease has just been taken off its worker. The only way a task ends. */
export function finish(yard: Yard, task: Task, state: FinishedStateName, cause: string, how: Finish): void {
  if (task.state === "waiting") countWaiting(task, -1);
  else task.queue.running -= 1;
  moveTask(yard, task, state, cause, how.by);
  task.ending = {
    state,
    finishedAt: yard.now.wall,
    tellUntil: after(yard.now.instant, yard.options.replyTtlMs),
    result: how.result,
    error: how.error,
    // Written down with the outcome, which leaves as soon as that is safe; whoever cannot be told is the exception.
    told: task.head.replyTo?.isFleeting === true && (how.result?.size ?? 0) <= aheadBytesMax,
    settled: 0,
    tellings: 0,
  };
  unplace(yard, task, "telling");
  yard.counters.outcomes.add(task.queue.label, state);
  ageKey(yard, task);
  answerWatches(yard, task);
  if (task.head.replyTo === undefined) settle(yard, task);
  else beginTelling(yard, task);
}

function beginTelling(yard: Yard, task: Task): void {
  yard.untold.add(task);
  if (yard.untold.size > yard.options.limits.untold) {
    yard.limitReached("untold");
    const { first: oldest } = yard.untold;
    if (oldest !== undefined && oldest !== task) giveUpTelling(yard, oldest);
  }
  armTellingEnd(yard);
  if ((task.ending as Ending).told) enterHistory(yard, task);
  tell(yard, task);
}

/** Has the outcome told. It stays untold until the door says otherwise or its time is over. */
export function tell(yard: Yard, task: Task): void {
  const ending = task.ending as Ending;
  const { state, result, error } = ending;
  const { door } = task.head;
  ending.tellings += 1;
  yard.counters.tellings.add(door);
  yard.step.effects.push({ type: "tell", door, task: task.head, outcome: { state, result, error } });
}

/** All may be told for the same time, so the first to run out of it is the first that finished: one deadline serves all. */
export function armTellingEnd(yard: Yard): void {
  if (yard.tellingEnd.isArmed) return;
  const { first: oldest } = yard.untold;
  if (oldest?.ending !== undefined) yard.deadlines.arm(yard.tellingEnd, oldest.ending.tellUntil);
}

/** The time for telling some of them is over. */
export function endTellings(yard: Yard): void {
  for (const task of yard.untold) {
    if ((task.ending as Ending).tellUntil > yard.now.instant) break;
    giveUpTelling(yard, task);
  }
  armTellingEnd(yard);
}

export function handleTold(yard: Yard, door: DoorState, task: Task | undefined): void {
  if (task?.ending === undefined || task.place !== "telling" || task.head.door !== door.name) return;
  if (task.ending.told) return leave(yard, task);
  task.ending.told = true;
  settle(yard, task);
}

/** Not told: again later, or, where the asker is gone, kept readable; until its time is over if it may come back. */
export function handleUndelivered(yard: Yard, door: DoorState, task: Task | undefined, again: boolean): void {
  if (task?.ending === undefined || task.place !== "telling" || task.head.door !== door.name) return;
  if (!again) {
    if (task.head.replyTo?.isFleeting === true) giveUpTelling(yard, task);
    return;
  }
  const delayMs = retryDelayMs(task.ending.tellings + 1, yard.options.random());
  // The deadlines of its waiting are over, and the place of one is used for this.
  const deadline = task.wake?.subject.type === "tell" ? task.wake : undefined;
  task.wake = yard.armed(deadline, { type: "tell", task }, after(yard.now.instant, delayMs));
}

/** We stop: who has not been told over a connection by now will not be. */
export function endTellingsAhead(yard: Yard): void {
  for (const task of yard.untold) {
    if (task.ending?.told === true && task.wake?.isArmed === true) giveUpTelling(yard, task);
  }
}

/** Whatever was written down ahead, nobody was told. */
function giveUpTelling(yard: Yard, task: Task): void {
  (task.ending as Ending).told = false;
  settle(yard, task);
}

/** After a crash or a new incarnation of the door, what is not told is told again, the same. */
export function tellAgain(yard: Yard, door: DoorState): void {
  for (const task of yard.untold) if (task.head.door === door.name) tell(yard, task);
}

/** Nobody has to be told any more: the task leaves for history. */
function settle(yard: Yard, task: Task): void {
  if (task.ending?.settled === 0) enterHistory(yard, task);
  yard.step.touch(task);
  leave(yard, task);
}

function enterHistory(yard: Yard, task: Task): void {
  const ending = task.ending as Ending;
  ending.settled = yard.history.add(storedBytes(task.head, ending.result), yard.now.instant);
  trimHistory(yard);
}

/** All that there is to say of it has been written down. */
function leave(yard: Yard, task: Task): void {
  yard.disarm(task.wake);
  if (task.head.replyTo !== undefined) yard.untold.remove(task);
  const mayBeAnswered = task.losses > 0 || task.lease?.isLifted === true;
  // An attempt of it was lost and may still answer; that answer belongs into its story.
  if (mayBeAnswered) linger(yard, task, yard.lingering, yard.options.limits.lingering);
  else if (isCorrected(task)) linger(yard, task, yard.corrected, correctedMax);
  else letGo(yard, task);
  yard.dropIfEmpty(task.queue);
}

/** That it was told stands in the store and is not so. Whoever asks before that is put right has to ask here. */
function isCorrected({ head, ending }: Task): boolean {
  return head.replyTo?.isFleeting === true && ending?.told === false;
}

function linger(yard: Yard, task: Task, others: Fifo<Task>, max: number): void {
  setPlace(yard, task, "lingering");
  others.push(task);
  if (others.size <= max) return;
  const oldest = others.shift();
  if (oldest !== undefined) letGo(yard, oldest);
}

function letGo(yard: Yard, task: Task): void {
  setPlace(yard, task, "gone");
  yard.tasks.delete(task.head.id);
  // Else whoever writes it down does so.
  if (task.step === undefined) task.forget();
}

export function trimHistory(yard: Yard): void {
  for (;;) {
    const through = yard.history.trim(yard.now.instant);
    if (through === undefined) break;
    yard.step.change({ kind: "history-trimmed", through });
  }
  const next = yard.history.nextTrim();
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

/** Forgets the keys whose time is over. */
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
  for (const watch of [...watches]) endWatch(yard, watch, true);
}

/** Answers somebody who waited for the outcome. */
export function endWatch(yard: Yard, watch: Watch, finished: boolean): void {
  dropWatch(yard, watch);
  yard.reply(watch.door, watch.request, { type: "watched", task: watch.task, finished });
}

export function dropWatch(yard: Yard, watch: Watch): void {
  yard.disarm(watch.deadline);
  watch.door.watches.delete(watch.request);
  const watches = yard.watches.get(watch.task);
  watches?.delete(watch);
  if (watches?.size === 0) yard.watches.delete(watch.task);
}
