// Delivering outcomes to their clients. A delivery is repeated until the door confirms it or its
// time is over.

import type { DoorState } from "./door-state.js";
import { retryDelayMs } from "./retry-policy.js";
import { enterHistory, leave, settle } from "./settling.js";
import type { Task, TaskEnding } from "./task.js";
import { after, type Instant } from "./time.js";
import type { Yard } from "./yard.js";

export function beginTelling(yard: Yard, task: Task): void {
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
