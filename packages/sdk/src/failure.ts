// What a handler threw, in words. A handler may throw anything, and an attempt that is not answered
// keeps its slot: nothing here throws.

import { inspect, types } from "node:util";
import { YardError } from "./errors.js";

/** What a worker reports of an attempt that failed. */
export interface Failure {
  readonly message: string;
  readonly code?: string;
  /** The stack and its causes, or what the error itself gives as its detail. */
  readonly detail?: string;
}

/** Of the message and of the detail, in characters; the dispatcher keeps less of the message. */
const lengthMax = 16_384;
/** Errors that a detail tells of: an error, its causes, and those of an AggregateError. */
const toldMax = 8;

export function failureOf(thrown: unknown): Failure {
  const message = messageOf(thrown);
  try {
    const isCoded = isError(thrown) && thrown instanceof YardError && /^[\w.-]{1,64}$/.test(thrown.code);
    const detail = detailOf(thrown)?.slice(0, lengthMax);
    return { ...(isCoded && { code: thrown.code }), message, ...(detail && { detail }) };
  } catch {
    return { message };
  }
}

export function messageOf(thrown: unknown): string {
  try {
    return wordsFor(thrown).slice(0, lengthMax) || "the handler failed and said nothing";
  } catch {
    return "the handler threw something that cannot be shown";
  }
}

/** False for a proxy of an error: reading its prototype may throw. */
export function isError(thrown: unknown): thrown is Error {
  return types.isNativeError(thrown);
}

function wordsFor(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  if (thrown === undefined || thrown === null) return `the handler threw ${thrown}`;
  // A proxy is shown without running its traps.
  if (typeof thrown === "object" && !types.isProxy(thrown)) {
    const { message } = thrown as { readonly message?: unknown };
    if (typeof message === "string" && (message !== "" || isError(thrown))) return message;
  }
  return inspect(thrown, { depth: 2, breakLength: Number.POSITIVE_INFINITY });
}

function detailOf(thrown: unknown): string | undefined {
  if (!isError(thrown)) return undefined;
  const { detail } = thrown as { readonly detail?: unknown };
  if (typeof detail === "string") return detail;
  return thrown instanceof YardError ? undefined : stacksOf(thrown);
}

/** The stack of an error, of its causes, and of the errors that it combines. */
function stacksOf(thrown: Error): string {
  const stacks: string[] = [];
  const seen = new Set<unknown>();
  const open: { readonly before: string; readonly error: unknown }[] = [{ before: "", error: thrown }];
  for (const { before, error } of open) {
    if (seen.has(error) || stacks.length === toldMax) continue;
    seen.add(error);
    const { stack, cause, errors } = isError(error) ? (error as Partial<AggregateError>) : {};
    stacks.push(before + (typeof stack === "string" ? stack : messageOf(error)));
    if (cause !== undefined) open.push({ before: "Caused by: ", error: cause });
    if (Array.isArray(errors)) for (const one of errors) open.push({ before: "One of them: ", error: one });
  }
  return stacks.join("\n");
}
