// Identifiers of the core. They are branded types, so that a task's number cannot be used as an
// attempt's.

declare const taskId: unique symbol;
declare const attemptNumber: unique symbol;
declare const workerId: unique symbol;

/**
 * A task's number in the committed sequence: 1, 2, 3, … A number is never used twice. Doors derive
 * the ids they show from it.
 */
export type TaskId = number & { readonly [taskId]: true };

/**
 * One try of one task: epoch · 2³² + counter. The epoch is committed, so a number is never used
 * twice although the counter is not committed.
 */
export type AttemptNumber = number & { readonly [attemptNumber]: true };

/**
 * A worker, unique over all doors: the door's name, a slash, and the door's name for the worker.
 */
export type WorkerId = string & { readonly [workerId]: true };

/** A door's number for an event that it wants answered. Unique within the door's incarnation. */
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

/**
 * Queue names appear in URLs, metrics and storage keys, so they are limited to characters that need
 * no escaping there.
 */
export const queueNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
