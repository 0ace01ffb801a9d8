// Waiting for a task over http: for its outcome by long polls, for its changes by the stream of its
// events. Nothing here polls at intervals.

import { UnreachableError, YardError } from "../errors.js";
import { pause } from "../pause.js";
import { hasEnded, type Task } from "../task.js";
import { duration, type HttpConnection, isUnsent } from "./connection.js";
import { listen } from "./listening.js";
import { minimal } from "./submission.js";

/** One long poll. Proxies take longer silence for a dead connection. */
export const pollMs = 25_000;
/** Before the next try while the dispatcher is away. */
const awayPauseMs = 500;
/**
 * A wait continues for this long while the dispatcher is away. A restart takes seconds, and a
 * minute if it has millions of tasks on a slow disk.
 */
const awayMsMax = 60_000;

export function pathOf(id: string): string {
  return `/v1/tasks/${encodeURIComponent(id)}`;
}

/** A task that was waited for. The result is there if it is small and came during the wait. */
export interface Finished extends Pick<Task, "id" | "state" | "error"> {
  readonly contentType?: string;
  readonly result?: string;
  readonly resultBase64?: string;
}

/** The task once it has ended; undefined when the time is over. */
export async function untilEnded(
  connection: HttpConnection,
  id: string,
  {
    signal,
    waitMs = Number.POSITIVE_INFINITY,
  }: { signal: AbortSignal | undefined; waitMs?: number | undefined },
): Promise<Finished | undefined> {
  const until = performance.now() + waitMs;
  /** When the dispatcher last answered, or first took a request. Undefined before that. */
  let reachedAt: number | undefined;
  for (;;) {
    const leftMs = Math.max(0, until - performance.now());
    const wait = duration(Math.min(leftMs, pollMs));
    try {
      const seen = await connection.json<Finished>(pathOf(id), { query: { wait }, headers: minimal, signal });
      if (hasEnded(seen.state)) return seen;
      reachedAt = performance.now();
      if (leftMs <= pollMs && reachedAt >= until) return undefined;
    } catch (fault) {
      const now = performance.now();
      if (!isAway(fault)) throw fault;
      if (wasReached(fault)) reachedAt ??= now;
      // An address at which nobody has answered yet may be wrong.
      if (reachedAt === undefined || now - reachedAt > awayMsMax || now >= until) throw fault;
      await pause(awayPauseMs, signal);
      signal?.throwIfAborted();
    }
  }
}

/** False if nobody listens at the address. */
function wasReached(fault: unknown): boolean {
  return !(fault instanceof UnreachableError && isUnsent(fault.cause));
}

/** The task as it is now, then after each change. The last one has ended. */
export async function* watchTask(
  connection: HttpConnection,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<Task> {
  let last = await connection.json<Task>(pathOf(id), { signal });
  yield last;
  if (hasEnded(last.state)) return;
  const over = new AbortController();
  const either = AbortSignal.any([over.signal, signal]);
  // Also waits for the end: a task that was evicted while we were not connected has no event.
  const ended = endOf(connection, id, either);
  ended.catch(() => {});
  const events = listen(connection, "/v1/events", { task: id }, { signal: either });
  try {
    for (;;) {
      const next = await Promise.race([ended, nextTask(events)]);
      signal.throwIfAborted();
      if (next === undefined) continue;
      if (JSON.stringify(next) === JSON.stringify(last)) continue;
      last = next;
      yield next;
      if (hasEnded(next.state)) return;
    }
  } finally {
    over.abort();
    void events.return(undefined).catch(() => {});
  }
}

async function nextTask(events: AsyncGenerator<{ type: string; data: unknown }>): Promise<Task | undefined> {
  const { value, done } = await events.next();
  if (done) return undefined;
  return value.type === "task" ? (value.data as Task) : undefined;
}

/** The whole task once it has ended. A dispatcher that is away is asked again. */
async function endOf(connection: HttpConnection, id: string, signal: AbortSignal): Promise<Task> {
  for (;;) {
    try {
      await untilEnded(connection, id, { signal });
      return await connection.json<Task>(pathOf(id), { signal });
    } catch (fault) {
      if (!isAway(fault)) throw fault;
      await pause(awayPauseMs, signal);
      signal.throwIfAborted();
    }
  }
}

function isAway(fault: unknown): boolean {
  return fault instanceof UnreachableError || (fault instanceof YardError && fault.code === "not_ready");
}
