// A worker, with one interface for all dialects: a handler receives payloads, and its return value
// is the result.

import type { ConnectSecurity } from "@yardmaster/zmtp";
import { type Body, type Bodylike, bodyOf } from "./body.js";
import type { TlsCredentials } from "./client.js";
import { InterruptedError } from "./errors.js";
import { timerMs } from "./time.js";

/** Options of a worker. */
export interface WorkOptions {
  /** For dialects with queues. */
  readonly queue?: string;
  /** Several queues in the same slots, instead of one `queue`; over http only, at most 64. */
  readonly queues?: readonly string[];
  /** Number of tasks that run at the same time. Default 1. */
  readonly concurrency?: number;
  /** The name by which the dispatcher knows it, if the dialect has names. Made up if absent. */
  readonly name?: string;
  readonly token?: string;
  /** For https. */
  readonly tls?: TlsCredentials;
  /** Credentials for a ZeroMQ door (pingpong, monique, scaler): PLAIN or CURVE. */
  readonly security?: ConnectSecurity;
  /**
   * How long a task stays with this worker without a heartbeat, if the dialect has leases. Default
   * 30 s.
   */
  readonly leaseMs?: number;
  /**
   * `auto` (default): the lease is renewed while the handler runs. `manual`: only `context.beat()`
   * renews it.
   */
  readonly beats?: "auto" | "manual";
  /** After this time the handler's signal fires and the attempt fails. No limit if absent. */
  readonly timeoutMs?: number;
  /**
   * Called with true when the dispatcher answers, and with false when it is unreachable, as far as
   * the dialect can tell.
   */
  readonly onContact?: (isThere: boolean) => void;
  /**
   * Called with errors outside the handler: an unreachable dispatcher, an answer that came too
   * late.
   */
  readonly onError?: (error: unknown) => void;
}

/** What a handler is told about its task, and how it reports. */
export interface WorkContext {
  readonly dialect: string;
  /** The dispatcher's id of the task, if the dialect transmits it. */
  readonly task: string | undefined;
  readonly attempt: string | undefined;
  readonly queue: string | undefined;
  /** The tasks that it depends on, whose results can be read; absent if there are none. */
  readonly after?: readonly string[];
  /**
   * Fires when continuing is useless: the task was cancelled, the lease is lost, the time limit is
   * over, or the worker is stopping and its grace period is over. Its reason is an
   * `InterruptedError`.
   */
  readonly signal: AbortSignal;
  /**
   * Sends a heartbeat: the lease starts again, and a cancel is noticed at once. Does nothing if the
   * dialect sends heartbeats by itself.
   */
  beat(): Promise<void>;
  /**
   * Reports how far the handler is: a number from 0 to 1, or other JSON of at most 4,096 bytes. The
   * latest report is shown with the task. Call it as often as you like: at most two reports a
   * second are sent, and the last one always is. Does nothing where the dialect cannot say it.
   */
  progress(value: unknown, message?: string): void;
}

/** A context's reports in dialects that have no way to make them. */
export const unheard: Pick<WorkContext, "beat" | "progress"> = {
  beat: async () => {},
  progress: () => {},
};

/** Makes a result of a payload. What it throws fails the attempt. */
export type WorkHandler = (payload: Body, context: WorkContext) => Bodylike | Promise<Bodylike>;

/** How to stop a worker. */
export interface StopOptions {
  /** How long handlers may continue before their signals fire. Default 10 s. */
  readonly graceMs?: number;
}

/** A worker that was started. */
export interface RunningWorker extends AsyncDisposable {
  /**
   * Accepts no more tasks and resolves when running handlers have finished. A second call with less
   * grace shortens it.
   */
  stop(options?: StopOptions): Promise<void>;
  /**
   * Resolves when it has stopped, by itself or because the dispatcher drained it. Rejects if it
   * cannot continue.
   */
  readonly ended: Promise<void>;
}

/** How long handlers may go on after `stop`, if nothing else is said. */
export const defaultGraceMs = 10_000;

/**
 * Runs a handler and returns its result in a form that every dialect can send. Rejects with what
 * the handler throws.
 */
export async function handled(
  handler: WorkHandler,
  payload: Body,
  context: WorkContext,
  timeoutMs: number | undefined,
): Promise<Body> {
  if (timeoutMs === undefined) return bodyOf(await handler(payload, context));
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new InterruptedError("time_limit")), timerMs(timeoutMs));
  const signal = AbortSignal.any([context.signal, limit.signal]);
  try {
    // The handler is not awaited to its end: one that ignores its signal must not keep its slot.
    return bodyOf(await Promise.race([handler(payload, { ...context, signal }), rejection(limit.signal)]));
  } finally {
    clearTimeout(timer);
  }
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

interface Slot {
  stop(options: Required<StopOptions>): Promise<void>;
  /** Resolves when it ends, also by itself; absent if it never does. */
  readonly ended?: Promise<void>;
}

/** A worker for dialects in which a peer holds one task: it starts one peer per slot. */
export async function startSlots(
  concurrency: number,
  start: (index: number) => Slot | Promise<Slot>,
): Promise<RunningWorker> {
  const slots: Slot[] = [];
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const stop = ({ graceMs = defaultGraceMs }: StopOptions = {}): Promise<void> => {
    return Promise.all(slots.map((slot) => slot.stop({ graceMs }))).then(end);
  };
  try {
    for (let index = 0; index < concurrency; index += 1) slots.push(await start(index));
  } catch (fault) {
    await stop({ graceMs: 0 });
    throw fault;
  }
  const ends = slots.flatMap((slot) => slot.ended ?? []);
  if (ends.length === slots.length) void Promise.all(ends).then(end);
  return { stop, ended, [Symbol.asyncDispose]: () => stop() };
}
