// Under which terms a task can be found. A term only has to lead to all tasks it fits; what it leads to is read and
// looked at before it is given out, so a cut or a stale one costs time and never an answer.

import type { TaskError, TaskStateName } from "@yardmaster/core";

/** Longer values share a term with others that begin alike. */
const valueLengthMax = 200;

/** Values of a field whose terms are kept at hand. */
const knownMax = 4096;

/** The beginnings of an error's message that are terms: a question takes the longest that is not longer than itself. */
const prefixLengths = [1, 2, 4, 8, 16, 32, 64] as const;

export const queueTerm = termsOf("q");
export const doorTerm = termsOf("d");
export const stateTerm: (state: TaskStateName) => string = termsOf("s");
export const workerTerm = termsOf("w");
export const codeTerm = termsOf("c");

/** The term of all messages that may begin with this; undefined where every one does. */
export function messageTerm(prefix: string): string | undefined {
  const length = prefixLengths.findLast((each) => each <= prefix.length);
  return length === undefined ? undefined : messagePrefixTerm(prefix, length);
}

/** Of what never changes. */
export function headTerms({ queue, door }: { readonly queue: string; readonly door: string }): string[] {
  return [queueTerm(queue), doorTerm(door)];
}

export interface Ended {
  readonly state: TaskStateName;
  readonly worker: string | undefined;
  readonly error: TaskError | undefined;
}

/** Of how a task ended. */
export function endedTerms({ state, worker, error }: Ended): string[] {
  const terms = [stateTerm(state)];
  if (worker !== undefined) terms.push(workerTerm(worker));
  if (error !== undefined) {
    terms.push(codeTerm(error.code), anyErrorTerm);
    for (const length of prefixLengths) {
      if (error.message.length < length) break;
      terms.push(messagePrefixTerm(error.message, length));
    }
  }
  return terms;
}

/** Of all that ended in an error: what the empty beginning of a message leads to. */
export const anyErrorTerm = "e";

export function endAlike(one: Ended, other: Ended): boolean {
  return (
    one.state === other.state &&
    one.worker === other.worker &&
    one.error?.code === other.error?.code &&
    one.error?.message === other.error?.message
  );
}

/** With the length in front: the term of a short prefix is not the beginning of a longer one's. */
function messagePrefixTerm(message: string, length: number): string {
  return `m${length} ${message.slice(0, length)}`;
}

/** The terms of one field. The same string for the same value, because to look it up in a map it is hashed once. */
function termsOf(field: string): (value: string) => string {
  const known = new Map<string, string>();
  let lastValue = "";
  let lastTerm = field;
  return (value) => {
    if (value === lastValue) return lastTerm;
    let term = known.get(value);
    if (term === undefined) {
      if (known.size >= knownMax) known.clear();
      term = field + value.slice(0, valueLengthMax);
      known.set(value, term);
    }
    lastValue = value;
    lastTerm = term;
    return term;
  };
}
