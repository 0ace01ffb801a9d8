// A task's story, told: its attempts with times and outcomes, and the sentence at the head of its
// page.

import type { StoryEntry, Task } from "../live/api-shapes.js";
import { type Durability, keptWords } from "./durability.js";
import { ordinal } from "./numbers.js";
import { reasonClause } from "./reasons.js";
import { duration, fineDuration } from "./time.js";

export type Ending = "running" | "done" | "failed" | "lost" | "returned" | "cancelled" | "expired";

export interface ToldAttempt {
  /** 1, 2, 3; the API's long number is `attempt`. */
  readonly number: number;
  readonly attempt: number | undefined;
  readonly worker: string;
  readonly start: number;
  end: number | undefined;
  ending: Ending;
  /** The loss's code, or the error's words. */
  reason: string;
  /** When its answer came although it no longer counted. */
  lateAt: number | undefined;
}

/**
 * A cause as the dispatcher writes it: "lost: silence", "late: result refused", "cancelled by
 * 10.0.4.2".
 */
export interface Cause {
  readonly kind: string;
  readonly detail: string;
}

export function causeOf(text: string): Cause {
  const [, kind = text, detail = ""] = /^(\w+)(?:: | by )(.*)$/s.exec(text) ?? [];
  return { kind, detail };
}

export function attemptsOf(task: Task): ToldAttempt[] {
  const attempts: ToldAttempt[] = [];
  const find = (entry: StoryEntry) =>
    attempts.findLast((one) => one.attempt === entry.attempt) ??
    attempts.findLast((one) => one.end === undefined);
  for (const entry of task.story) {
    const at = Date.parse(entry.at);
    const cause = causeOf(entry.cause);
    if (cause.kind === "late") {
      const late = attempts.find((one) => one.attempt === entry.attempt);
      if (late) late.lateAt = at;
    } else if (
      entry.to === "running" &&
      (entry.cause === "assigned" || entry.cause === "resumed" || !find(entry))
    ) {
      attempts.push(begun(attempts.length + 1, entry, at));
    } else if (entry.to !== "running") {
      const open = find(entry);
      if (open && open.end === undefined) {
        open.end = at;
        open.ending = endingOf(entry, cause);
        open.reason =
          cause.kind === "lost" || cause.kind === "returned"
            ? cause.detail
            : (task.error?.message ?? cause.detail);
      }
    }
  }
  return attempts;
}

function begun(number: number, entry: StoryEntry, start: number): ToldAttempt {
  return {
    number,
    attempt: entry.attempt,
    worker: entry.worker ?? "",
    start,
    end: undefined,
    ending: "running",
    reason: "",
    lateAt: undefined,
  };
}

function endingOf(entry: StoryEntry, cause: Cause): Ending {
  if (cause.kind === "lost") return "lost";
  if (cause.kind === "returned") return "returned";
  if (entry.to === "waiting") return "failed";
  return entry.to as Ending;
}

/** A part of a sentence; with a worker it is a link to that worker. */
export interface Words {
  readonly text: string;
  readonly worker?: string;
  readonly isStrong?: boolean;
}

/** Without its door, where the rest is a name; a bare number says nothing by itself. */
export function shortWorker(id: string): string {
  const name = id.slice(id.indexOf("/") + 1);
  return /^\d*$/.test(name) ? id : name;
}

export function taskSentence(task: Task, now: number): Words[] {
  const attempts = attemptsOf(task);
  const last = attempts.at(-1);
  switch (task.state) {
    case "waiting":
      return waitingSentence(task, now);
    case "running":
      return [
        {
          text: `Attempt ${attempts.length || 1} has been running for ${duration(now - (last?.start ?? now))}`,
          isStrong: true,
        },
        { text: " on " },
        ...worker(task.worker),
        { text: "." },
        ...losses(attempts),
      ];
    case "done":
      return doneSentence(task, attempts);
    case "failed":
      return [
        {
          text: attempts.length > 1 ? `Failed at the ${ordinal(attempts.length)} attempt` : "Failed",
          isStrong: true,
        },
        ...(last
          ? [{ text: ` after ${duration((last.end ?? now) - last.start)} on ` }, ...worker(last.worker)]
          : []),
        { text: task.error ? `: ${errorText(task.error)}` : "." },
        ...losses(attempts.slice(0, -1)),
      ];
    case "cancelled": {
      const by = causeOf(task.story.findLast(({ to }) => to === "cancelled")?.cause ?? "").detail;
      return [
        { text: "Cancelled", isStrong: true },
        { text: by === "" ? "." : ` by ${by}.` },
        ...losses(attempts),
      ];
    }
    case "expired":
      return [
        { text: "Expired", isStrong: true },
        { text: ": no worker started it in time. This does not count as a failure." },
        ...losses(attempts),
      ];
  }
}

function worker(id: string | null | undefined): Words[] {
  return id ? [{ text: shortWorker(id), worker: id }] : [{ text: "its worker" }];
}

function waitingSentence(task: Task, now: number): Words[] {
  const words: Words[] = [{ text: task.why?.message ?? "It waits.", isStrong: true }];
  if (task.why?.until) words.push({ text: ` Until then: ${duration(Date.parse(task.why.until) - now)}.` });
  if (task.ahead === 0) words.push({ text: " It is the first of its queue." });
  else if (typeof task.ahead === "number") {
    words.push({ text: ` ${task.ahead} ${task.ahead === 1 ? "task goes" : "tasks go"} before it.` });
  }
  return [...words, ...losses(attemptsOf(task))];
}

/** "failed" is the code of an error that has none of its own, and is said already. */
function errorText({ code, message }: { readonly code: string; readonly message: string }): string {
  return code === "failed" && message !== "" ? message : `${code}, ${message}`;
}

function doneSentence(task: Task, attempts: readonly ToldAttempt[]): Words[] {
  const whole = fineDuration(Date.parse(task.finishedAt ?? task.submittedAt) - Date.parse(task.submittedAt));
  const last = attempts.at(-1);
  const head =
    attempts.length > 1
      ? `Done in ${whole}, at the ${ordinal(attempts.length)} attempt.`
      : `Done in ${whole}.`;
  const before = losses(attempts.slice(0, -1));
  if (!last) return [{ text: head, isStrong: true }];
  const took = fineDuration((last.end ?? last.start) - last.start);
  return [
    { text: head, isStrong: true },
    ...(before.length > 0 ? [...before.slice(0, -1), { text: "; " }] : [{ text: " " }]),
    ...worker(last.worker),
    { text: attempts.length > 1 ? ` finished it in ${took}.` : ` ran it in ${took}.` },
  ];
}

/** What became of attempts that did not count, worst told first to last, at most three. */
function losses(attempts: readonly ToldAttempt[]): Words[] {
  const told = attempts.filter(({ ending }) => ending === "lost" || ending === "failed").slice(-3);
  const words: Words[] = [];
  told.forEach((one, at) => {
    words.push(
      { text: at === 0 ? " " : "; " },
      ...(at === 0 ? capitalised(lossClause(one)) : lossClause(one)),
    );
  });
  if (words.length > 0) words.push({ text: "." });
  return words;
}

/** Capitalises the first letter, unless the sentence begins with a worker's name. */
function capitalised([first, ...rest]: Words[]): Words[] {
  if (!first || first.worker !== undefined) return first ? [first, ...rest] : rest;
  return [{ ...first, text: first.text.charAt(0).toUpperCase() + first.text.slice(1) }, ...rest];
}

function lossClause({ worker: id, ending, reason, lateAt }: ToldAttempt): Words[] {
  const late: Words[] = lateAt === undefined ? [] : [{ text: ", and its late answer was refused" }];
  const name: Words = { text: shortWorker(id), worker: id };
  if (ending === "failed") return [{ text: "it failed on " }, name, ...late];
  if (reason.startsWith("connection_closed"))
    return [{ text: "the connection of " }, name, { text: " closed" }, ...late];
  if (reason.startsWith("silence")) return [name, { text: " fell silent" }, ...late];
  if (reason.startsWith("time_limit")) return [name, { text: " overran its time limit" }, ...late];
  return [name, { text: ` lost it: ${reasonClause(reason)}` }, ...late];
}

/** The time a task waited and was worked on, and how much of the work was lost. */
export function timesOf(task: Task, now: number): { wholeMs: number; workedMs: number; lostMs: number } {
  let [workedMs, lostMs] = [0, 0];
  for (const { start, end, ending } of attemptsOf(task)) {
    const ms = (end ?? now) - start;
    workedMs += ms;
    if (ending === "lost" || ending === "returned") lostMs += ms;
  }
  const finished = task.finishedAt === null ? now : Date.parse(task.finishedAt);
  return { wholeMs: finished - Date.parse(task.submittedAt), workedMs, lostMs };
}

/** The principal that submitted the task; empty if it is not known. */
export function submitterOf(task: Pick<Task, "story">): string {
  const { kind, detail } = causeOf(task.story[0]?.cause ?? "");
  return kind === "submitted" ? detail : "";
}

/** An entry of the full story, as a sentence. */
export function entrySentence(entry: StoryEntry, durability?: Durability): string {
  const { kind, detail } = causeOf(entry.cause);
  const by = entry.worker ? ` on ${shortWorker(entry.worker)}` : "";
  switch (kind) {
    case "submitted":
      return `Submitted${detail && ` by ${detail}`}, and ${keptWords(durability)}.`;
    case "assigned":
      return `Given out${by}.`;
    case "resumed":
      return `Resumed${by}, after a restart.`;
    case "lost":
      return `Attempt lost${by}: ${reasonClause(detail)}.`;
    case "returned":
      return `Given back${by}: ${reasonClause(detail)}. That costs no try.`;
    case "late":
      return `${detail.charAt(0).toUpperCase()}${detail.slice(1)}${by}: the attempt no longer counted.`;
    case "cancelled":
      return `Cancelled by ${detail}.`;
    default:
      return detail === "" ? `${kind.charAt(0).toUpperCase()}${kind.slice(1)}${by}.` : `${entry.cause}${by}`;
  }
}
