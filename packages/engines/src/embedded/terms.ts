// The terms under which a task is indexed. A term must lead to all tasks that match; more is
// allowed, because every candidate is read and checked. So a truncated or stale term costs time,
// but never a wrong answer.

import type { TaskError, TaskStateName } from "@yardmaster/core";
import { wordsOf } from "../message-words.js";

/** A longer value shares its term with others that have the same first characters. */
const valueLengthMax = 200;

/** Maximum number of cached terms per field. */
const knownMax = 4096;

/**
 * Lengths of the prefixes of an error's message that are terms. A query uses the longest that is
 * not longer than its text.
 */
const prefixLengths = [1, 2, 4, 8, 16, 32, 64] as const;

export const queueTerm = termsOf("q");
export const doorTerm = termsOf("d");
export const stateTerm: (state: TaskStateName) => string = termsOf("s");
export const workerTerm = termsOf("w");
export const codeTerm = termsOf("c");

/** The term of all messages that may start with this prefix; undefined for the empty prefix. */
export function messageTerm(prefix: string): string | undefined {
  const length = prefixLengths.findLast((each) => each <= prefix.length);
  return length === undefined ? undefined : messagePrefixTerm(prefix, length);
}

/**
 * Lengths of the prefixes of a word that are terms. Few words share their first six letters, and
 * those that share two are few enough to read.
 */
const wordPrefixLengths = [2, 6] as const;

/**
 * The terms that every message with these words has; undefined if the text has only single letters.
 */
export function wordTerms(text: string): string[] | undefined {
  const terms = wordsOf(text).flatMap((word) => {
    const length = wordPrefixLengths.findLast((each) => each <= word.length);
    return length === undefined ? [] : [wordPrefixTerm(word, length)];
  });
  return terms.length === 0 ? undefined : terms;
}

function wordPrefixTerm(word: string, length: number): string {
  return `x${length} ${word.slice(0, length)}`;
}

/** A set, because words of one message often start alike. */
function wordTermsIn(message: string): Set<string> {
  const terms = new Set<string>();
  for (const word of wordsOf(message)) {
    for (const length of wordPrefixLengths)
      if (word.length >= length) terms.add(wordPrefixTerm(word, length));
  }
  return terms;
}

/** The terms of fields that never change. */
export function headTerms({ queue, door }: { readonly queue: string; readonly door: string }): string[] {
  return [queueTerm(queue), doorTerm(door)];
}

export interface Ended {
  readonly state: TaskStateName;
  readonly worker: string | undefined;
  readonly error: TaskError | undefined;
}

/** The terms of a task's outcome. */
export function endedTerms({ state, worker, error }: Ended): string[] {
  const terms = [stateTerm(state)];
  if (worker !== undefined) terms.push(workerTerm(worker));
  if (error !== undefined) {
    terms.push(codeTerm(error.code), anyErrorTerm);
    for (const length of prefixLengths) {
      if (error.message.length < length) break;
      terms.push(messagePrefixTerm(error.message, length));
    }
    terms.push(...wordTermsIn(error.message));
  }
  return terms;
}

/** The term of all tasks that ended in an error. The empty prefix of a message leads here. */
export const anyErrorTerm = "e";

export function endAlike(one: Ended, other: Ended): boolean {
  return (
    one.state === other.state &&
    one.worker === other.worker &&
    one.error?.code === other.error?.code &&
    one.error?.message === other.error?.message
  );
}

/** The length comes first, so that the term of a short prefix is not a prefix of a longer one's. */
function messagePrefixTerm(message: string, length: number): string {
  return `m${length} ${message.slice(0, length)}`;
}

/**
 * Makes the terms of one field. The same value gives the same string object, whose hash V8 computes
 * once.
 */
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
