// The names by which the yard knows its things. Branded, so that a task's number is never taken for an attempt's.

declare const taskId: unique symbol;
declare const attemptNumber: unique symbol;
declare const workerId: unique symbol;

/** A task's place in the committed sequence: 1, 2, 3, … and never used twice. What doors show derives from it. */
export type TaskId = number & { readonly [taskId]: true };

/** One try of one task: epoch · 2³² + counter, so a number is never used twice although it is not committed. */
export type AttemptNumber = number & { readonly [attemptNumber]: true };

/** A worker, unique over all doors: the door's name, a slash, and what the door knows the worker by. */
export type WorkerId = string & { readonly [workerId]: true };

/** What a door puts on an event it wants answered; unique within the door's incarnation. */
export type RequestId = number;

const epochSize = 2 ** 32;

export function attemptOf(epoch: number, counter: number): AttemptNumber {
  return (epoch * epochSize + counter) as AttemptNumber;
}

export function epochOf(attempt: AttemptNumber): number {
  return Math.floor(attempt / epochSize);
}

export function workerIdOf(door: string, name: string): WorkerId {
  return `${door}/${name}` as WorkerId;
}

/** A queue's name is part of URLs, metrics and file keys, so it is kept to characters that need no escaping there. */
export const queueNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
