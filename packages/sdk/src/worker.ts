// A worker, the same whatever it speaks: a handler is given payloads, and what it returns is the result.

import { type Body, type Bodylike, bodyOf } from "./body.js";
import { InterruptedError } from "./errors.js";

export interface WorkOptions {
  /** Where the dialect has queues. */
  readonly queue?: string;
  /** How many tasks at once; 1 if absent. */
  readonly concurrency?: number;
  /** Under which the dispatcher knows it, where the dialect has names; otherwise made up. */
  readonly name?: string;
  readonly token?: string;
  /** How long a task stays ours without a beat, where the dialect has leases; 30 s if absent. */
  readonly leaseMs?: number;
  /** `auto` (if absent): the lease is kept for as long as the handler runs. `manual`: only by `context.beat()`. */
  readonly beats?: "auto" | "manual";
  /** After so long the handler's signal fires and the attempt fails; no limit if absent. */
  readonly timeoutMs?: number;
  /** Called with true when the dispatcher answers, and with false when it is away, as far as the dialect lets one know. */
  readonly onContact?: (isThere: boolean) => void;
  /** Told of what goes wrong beside the handler: a dispatcher that is away, an answer that came too late. */
  readonly onError?: (error: unknown) => void;
}

export interface WorkContext {
  readonly dialect: string;
  /** The dispatcher's number of the task, where the dialect tells it. */
  readonly task: string | undefined;
  readonly attempt: string | undefined;
  readonly queue: string | undefined;
  /**
   * Fires when going on is of no use: the task was cancelled, the lease is lost, the time limit is over, or the worker is
   * stopping and its time to finish is over. Its reason is an `InterruptedError`.
   */
  readonly signal: AbortSignal;
  /** Reports progress: the lease starts anew, and a cancel is heard of at once. Nothing where the dialect beats by itself. */
  beat(): Promise<void>;
}

export type WorkHandler = (payload: Body, context: WorkContext) => Bodylike | Promise<Bodylike>;

export interface StopOptions {
  /** How long handlers may go on before their signals fire; 10 s if absent. */
  readonly graceMs?: number;
}

export interface RunningWorker extends AsyncDisposable {
  /** Takes nothing more, lets running handlers finish, and resolves when they have. Said again with less grace, it is less. */
  stop(options?: StopOptions): Promise<void>;
  /** Resolves when it has stopped, by itself or when the dispatcher drained it; rejects when it cannot go on. */
  readonly ended: Promise<void>;
}

export const defaultGraceMs = 10_000;

/** What a handler made of a payload, as every dialect can send it. Rejects with what the handler throws. */
export async function handled(
  handler: WorkHandler,
  payload: Body,
  context: WorkContext,
  timeoutMs: number | undefined,
): Promise<Body> {
  if (timeoutMs === undefined) return bodyOf(await handler(payload, context));
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new InterruptedError("time_limit")), timeoutMs);
  const signal = AbortSignal.any([context.signal, limit.signal]);
  try {
    // Not awaited to its end: a handler that does not listen must not keep its slot.
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
}

/** A worker of a dialect in which a peer holds one task: as many peers as there are to be slots. */
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
  return { stop, ended, [Symbol.asyncDispose]: () => stop() };
}
