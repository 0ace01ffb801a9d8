// A client of a dispatcher, the same whatever it speaks. What a dialect has no way to do rejects with an
// `UnsupportedError`; this is also the class that each dialect's client starts from: it can do nothing yet.

import type { YardAddress } from "./address.js";
import type { Body, Bodylike } from "./body.js";
import { UnsupportedError, YardError } from "./errors.js";
import type { DoorAddresses, Queue, Task, TaskQuery, WorkerView } from "./task.js";

export interface ConnectOptions {
  /** Of the http door; otherwise what stands in the URL as a password. */
  readonly token?: string;
}

export interface SubmitOptions {
  /** Where the dialect has queues. */
  readonly queue?: string;
  /** Instead of the one that the payload's kind suggests. */
  readonly contentType?: string;
  /** Higher goes first. */
  readonly priority?: number;
  readonly delayMs?: number;
  /** The time limit of an attempt. */
  readonly timeoutMs?: number;
  /** How long it may wait for a worker. */
  readonly expiresMs?: number;
  readonly attempts?: number;
  readonly failures?: number;
  /** The same key again is the same task. */
  readonly key?: string;
}

export interface Submitted {
  /** The dispatcher's number for it; where the dialect has none, this client's own. */
  readonly id: string;
  /** The dispatcher said that it has it. False where the dialect has no such word: there only the result tells. */
  readonly isAcknowledged: boolean;
}

export interface Outcome {
  readonly id: string;
  readonly body: Body;
}

/** One of many: where in the order it stood, and what became of handing it in. */
export type SubmittedItem =
  | (Submitted & { readonly index: number; readonly error?: undefined })
  | { readonly index: number; readonly id?: undefined; readonly error: YardError };

export interface SubmitItem extends SubmitOptions {
  readonly payload: Bodylike;
}

export interface SubmitManyOptions extends SubmitOptions {
  /** Tasks in one request, where the dialect has batches; 1000 if absent. */
  readonly batch?: number;
  /** Requests under way at once. */
  readonly inFlight?: number;
  /** Ends it at once: rejects, and what became of the requests under way is not known. */
  readonly signal?: AbortSignal;
  /** Ends it in order: nothing more is read or waits for room, and what is under way is still answered. */
  readonly stop?: AbortSignal;
  /**
   * How long full queues may accept nothing, where the dialect says that they are full. Then what waits for room is
   * answered with `queue_full`, and nothing more is read. No limit if absent.
   */
  readonly roomWaitMs?: number;
  /** Called after each request, where the dialect has batches. */
  readonly onAnswered?: (answer: BatchAnswer) => void;
}

/** What became of one request with many tasks. */
export interface BatchAnswer {
  readonly queue: string;
  readonly accepted: number;
  /** Found no room: they are submitted again. */
  readonly full: number;
}

export type QueueOrder = "pause" | "resume" | "drain";

export interface OrderOptions {
  /** The order is meant even if the queue is not there yet. */
  readonly create?: boolean;
}

export interface ResultOptions {
  readonly signal?: AbortSignal;
  /** Rejects with `still_open` when it is not over by then; for ever if absent. */
  readonly waitMs?: number;
}

export interface ListenOptions {
  readonly signal?: AbortSignal;
  /** Goes on after this one. */
  readonly lastEventId?: string;
}

/** One message of a stream of events, `data` being what its JSON holds. */
export interface StreamEvent {
  readonly id: string;
  readonly type: string;
  readonly data: unknown;
}

export abstract class YardClient implements AsyncDisposable {
  readonly dialect: string;
  readonly address: YardAddress;
  /** A task handed in is acknowledged; otherwise only its result tells that it was taken. */
  abstract readonly acknowledges: boolean;

  constructor(dialect: string, address: YardAddress) {
    this.dialect = dialect;
    this.address = address;
  }

  /** Resolves when the dispatcher has it, as far as the dialect lets one know. */
  abstract submit(payload: Bodylike, options?: SubmitOptions): Promise<Submitted>;

  /** Hands it in and waits for its outcome. */
  async call(payload: Bodylike, options: SubmitOptions & ResultOptions = {}): Promise<Outcome> {
    const { signal, waitMs, ...submission } = options;
    const { id } = await this.submit(payload, submission);
    const body = await this.result(id, {
      ...(signal === undefined ? {} : { signal }),
      ...(waitMs === undefined ? {} : { waitMs }),
    });
    return { id, body };
  }

  /** Hands in as fast as they are taken, with bounded memory; one answer each, in order. */
  abstract submitMany(
    items: Iterable<SubmitItem> | AsyncIterable<SubmitItem>,
    options?: SubmitManyOptions,
  ): AsyncGenerator<SubmittedItem>;

  /** Waits for the outcome. Rejects with a `TaskEndedError` when it is no result. */
  abstract result(task: string | Submitted, options?: ResultOptions): Promise<Body>;

  abstract close(): Promise<void>;

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async task(_id: string | Submitted): Promise<Task> {
    return this.unsupported("show a task");
  }

  async payload(_id: string | Submitted): Promise<Body> {
    return this.unsupported("show a payload");
  }

  /** Where the dialect shows tasks, the task as it is then. */
  async cancel(_task: string | Submitted): Promise<Task | undefined> {
    return this.unsupported("cancel a task");
  }

  async retry(_task: string | Submitted): Promise<Task> {
    return this.unsupported("retry a task");
  }

  /** All that fit, newest first, page after page as they are asked for. */
  // biome-ignore lint/correctness/useYield: it has none to give.
  async *tasks(_query?: TaskQuery, _options?: { pageSize?: number }): AsyncGenerator<Task> {
    this.unsupported("list tasks");
  }

  /** What happens in the yard: a snapshot, then changes. Goes on after a lost connection where it was. */
  // biome-ignore lint/correctness/useYield: it has none to give.
  async *events(_options?: ListenOptions): AsyncGenerator<StreamEvent> {
    this.unsupported("tell what happens");
  }

  /** Messages on the doors, decoded, from now on. */
  // biome-ignore lint/correctness/useYield: it has none to give.
  async *wire(_options?: ListenOptions & { readonly door?: string }): AsyncGenerator<StreamEvent> {
    this.unsupported("show messages on the doors");
  }

  async queues(): Promise<readonly Queue[]> {
    return this.unsupported("list queues");
  }

  /** Rejects with `not_found` where there is no such queue, unless it is to be made. */
  async orderQueue(_queue: string, _order: QueueOrder, _options?: OrderOptions): Promise<Queue> {
    return this.unsupported("pause or drain a queue");
  }

  async workers(): Promise<readonly WorkerView[]> {
    return this.unsupported("list workers");
  }

  async drainWorker(_worker: string): Promise<WorkerView> {
    return this.unsupported("drain a worker");
  }

  async doors(): Promise<DoorAddresses> {
    return this.unsupported("list doors");
  }

  protected unsupported(operation: string): never {
    throw new UnsupportedError(this.dialect, operation);
  }
}

export function idOf(task: string | Submitted): string {
  return typeof task === "string" ? task : task.id;
}

export function stillOpen(id: string): YardError {
  return new YardError("still_open", `task ${id} is not over yet`);
}
