// A client of a dispatcher, with one interface for all dialects. An operation that a dialect does
// not support rejects with an `UnsupportedError`. Each dialect's client extends this class, which
// supports nothing by itself.

import type { ConnectSecurity } from "@yardmaster/zmtp";
import type { Action, ActionOptions, CancelFilter, CountOptions, RetryFilter, TaskCount } from "./actions.js";
import type { YardAddress } from "./address.js";
import type { Body, Bodylike } from "./body.js";
import { UnsupportedError, YardError } from "./errors.js";
import type { Schedules } from "./schedules.js";
import type {
  DoorAddresses,
  Queue,
  QueueDetail,
  QueueSettings,
  Task,
  TaskQuery,
  WorkerView,
} from "./task.js";

/** For https: whom to trust, and what to show. All in PEM form. */
export interface TlsCredentials {
  /** The authority that signed the dispatcher's certificate, if it is not a public one. */
  readonly ca?: string | Buffer;
  /** A client certificate, instead of a token. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
}

/** How to connect to a dispatcher. */
export interface ConnectOptions {
  /** Token of the http door. Defaults to the password in the URL. */
  readonly token?: string;
  /** For https. */
  readonly tls?: TlsCredentials;
  /** Credentials for a ZeroMQ door (pingpong, monique, scaler): PLAIN or CURVE. */
  readonly security?: ConnectSecurity;
  /**
   * Over http, tasks submitted in one tick of the event loop share one request. While requests are
   * open, a task waits at most this long for others. Default 2; 0 sends at the end of each tick.
   */
  readonly submitDelayMs?: number;
}

/** Options of one submission. A dialect that cannot carry one rejects it. */
export interface SubmitOptions {
  /** For dialects with queues. */
  readonly queue?: string;
  /** Overrides the media type that follows from the payload. */
  readonly contentType?: string;
  /** A higher priority goes first. */
  readonly priority?: number;
  readonly delayMs?: number;
  /** Time limit of one attempt. */
  readonly timeoutMs?: number;
  /** Maximum time that the task may wait for a worker. */
  readonly expiresMs?: number;
  readonly attempts?: number;
  readonly failures?: number;
  /** Idempotency key: submitting the same key again returns the same task. */
  readonly key?: string;
  /** Ids of tasks that must end before this one may start. */
  readonly after?: readonly string[];
  /**
   * What happens if one of those does not end `done`: cancel this task (default), or run it anyway.
   */
  readonly ifFailed?: "cancel" | "run";
  /** Tasks of one queue and of equal priority take turns by group. */
  readonly group?: string;
}

/** A task of a graph. */
export interface GraphItem extends SubmitItem {
  /** Unique within the graph. */
  readonly name: string;
  readonly queue: string;
  /** Tasks that must end before this one may start: names within this graph, or ids. */
  readonly after?: readonly string[];
}

/** A task of an accepted graph. */
export interface GraphTask {
  readonly name: string;
  readonly id: string;
  /** True if an earlier submission with the same key was accepted: this is that task. */
  readonly existing: boolean;
}

/** What to retry besides the task itself. */
export interface RetryOptions {
  /** Also retry the tasks that were cancelled because this one failed. */
  readonly dependents?: boolean;
}

/** A task that was submitted. */
export interface Submitted {
  /** The dispatcher's id of the task, or this client's own if the dialect has none. */
  readonly id: string;
  /**
   * True if the dispatcher confirmed that it has the task. False if the dialect has no
   * acknowledgements; then only the result shows it.
   */
  readonly isAcknowledged: boolean;
}

/** The result of a task, with the id of the task. */
export interface Outcome {
  readonly id: string;
  readonly body: Body;
}

/** One of many submissions: its position, and the task or the error. */
export type SubmittedItem =
  | (Submitted & { readonly index: number; readonly error?: undefined })
  | { readonly index: number; readonly id?: undefined; readonly error: YardError };

/** One task of `submitMany`. Its options win over the common ones. */
export interface SubmitItem extends SubmitOptions {
  readonly payload: Bodylike;
}

/** Common options of all tasks, and the pace of `submitMany`. */
export interface SubmitManyOptions extends SubmitOptions {
  /** Tasks per request, if the dialect has batches. Default 1000. */
  readonly batch?: number;
  /** Maximum number of open requests. */
  readonly inFlight?: number;
  /** Ends at once: rejects, and the outcome of open requests is unknown. */
  readonly signal?: AbortSignal;
  /**
   * Ends in order: reads no more items and does not wait for room, but open requests are still
   * answered.
   */
  readonly stop?: AbortSignal;
  /**
   * How long full queues may accept nothing, if the dialect reports full queues. After that, tasks
   * that wait for room are answered with `queue_full`, and no more items are read. No limit if
   * absent.
   */
  readonly roomWaitMs?: number;
  /** Called after each request, if the dialect has batches. */
  readonly onAnswered?: (answer: BatchAnswer) => void;
}

/** The result of one request with many tasks. */
export interface BatchAnswer {
  readonly queue: string;
  readonly accepted: number;
  /** Tasks that found no room and will be submitted again. */
  readonly full: number;
}

/** What a queue can be told to do. */
export type QueueOrder = "pause" | "resume" | "drain";

/** Options of an order to a queue. */
export interface OrderOptions {
  /** Apply the order even if the queue does not exist yet. */
  readonly create?: boolean;
}

/** How to wait for a result. */
export interface ResultOptions {
  readonly signal?: AbortSignal;
  /** Rejects with `still_open` if the task has not ended by then. Waits forever if absent. */
  readonly waitMs?: number;
}

/** How to listen to a stream of events. */
export interface ListenOptions {
  readonly signal?: AbortSignal;
  /** Continue after this event. */
  readonly lastEventId?: string;
}

/** How to watch a task. */
export interface WatchOptions {
  /** Ends the watch; the task is not touched. */
  readonly signal?: AbortSignal;
}

/** Which events of the yard to listen to; all of the usual ones if nothing is given. */
export interface EventOptions extends ListenOptions {
  /** Of `queue worker task alert attempts beats figures`; by default the first three. */
  readonly types?: readonly string[];
  readonly queues?: readonly string[];
  /** Follow these tasks: no change of theirs is skipped. At most 50. */
  readonly tasks?: readonly (string | Submitted)[];
}

/** Which messages on the doors to listen to. */
export interface WireOptions extends ListenOptions {
  readonly door?: string;
  /** Messages a second, from 1 to 1,000; the rest is counted in `skipped` events. */
  readonly max?: number;
}

/** One event of a stream; `data` is its parsed JSON. */
export interface StreamEvent {
  readonly id: string;
  readonly type: string;
  readonly data: unknown;
}

/** A client of a dispatcher, the same for every dialect. `connect` makes one. */
export abstract class YardClient implements AsyncDisposable {
  readonly dialect: string;
  readonly address: YardAddress;
  /**
   * True if the dispatcher acknowledges submitted tasks. Otherwise only the result shows that a
   * task was accepted.
   */
  abstract readonly acknowledges: boolean;

  constructor(dialect: string, address: YardAddress) {
    this.dialect = dialect;
    this.address = address;
  }

  /** Resolves when the dispatcher has the task, as far as the dialect can tell. */
  abstract submit(payload: Bodylike, options?: SubmitOptions): Promise<Submitted>;

  /** Submits the task and waits for its outcome. */
  async call(payload: Bodylike, options: SubmitOptions & ResultOptions = {}): Promise<Outcome> {
    const { signal, waitMs, ...submission } = options;
    const { id } = await this.submit(payload, submission);
    const body = await this.result(id, {
      ...(signal === undefined ? {} : { signal }),
      ...(waitMs === undefined ? {} : { waitMs }),
    });
    return { id, body };
  }

  /**
   * Submits items as fast as they are accepted, with bounded memory. Yields one answer per item, in
   * order.
   */
  abstract submitMany(
    items: Iterable<SubmitItem> | AsyncIterable<SubmitItem>,
    options?: SubmitManyOptions,
  ): AsyncGenerator<SubmittedItem>;

  /** Waits for the outcome. Rejects with a `TaskEndedError` if the task ended without a result. */
  abstract result(task: string | Submitted, options?: ResultOptions): Promise<Body>;

  /**
   * Yields the task as it is now, then after each change, last when it has ended. Changes within a
   * tenth of a second are told as one. A lost connection is opened again.
   */
  // biome-ignore lint/correctness/useYield: it has none to give.
  async *watch(_task: string | Submitted, _options?: WatchOptions): AsyncGenerator<Task> {
    this.unsupported("watch a task");
  }

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

  /** Returns the task after the cancel, if the dialect can show tasks. */
  async cancel(_task: string | Submitted): Promise<Task | undefined> {
    return this.unsupported("cancel a task");
  }

  /** Submits tasks that depend on each other. All are accepted, or none; then it rejects. */
  async submitGraph(_items: Iterable<GraphItem>): Promise<readonly GraphTask[]> {
    return this.unsupported("submit a graph");
  }

  async retry(_task: string | Submitted, _options?: RetryOptions): Promise<Task> {
    return this.unsupported("retry a task");
  }

  /**
   * Starts to cancel all tasks that match; without a filter, all that wait or run. Tasks submitted
   * later are not affected. The action survives a crash.
   */
  async cancelMany(_filter: CancelFilter): Promise<Action> {
    return this.unsupported("cancel tasks by a filter");
  }

  /**
   * Starts to retry, once each, all tasks that match and have failed, expired or been cancelled.
   */
  async retryMany(_filter: RetryFilter): Promise<Action> {
    return this.unsupported("retry tasks by a filter");
  }

  /** Starts to cancel all tasks that wait in the queue. Running ones continue. */
  async purge(_queue: string): Promise<Action> {
    return this.unsupported("purge a queue");
  }

  /** The progress of a bulk action. */
  async action(_id: string | Action): Promise<Action> {
    return this.unsupported("show an action");
  }

  /** Bulk actions, newest first: the running ones, and the last hundred that have ended. */
  async actions(): Promise<readonly Action[]> {
    return this.unsupported("list actions");
  }

  /** Ends a bulk action after its current step. Completed steps are not undone. */
  async stopAction(_id: string | Action): Promise<Action> {
    return this.unsupported("stop an action");
  }

  /** Waits until a bulk action has ended. */
  async actionEnd(_id: string | Action, _options?: ActionOptions): Promise<Action> {
    return this.unsupported("wait for an action");
  }

  /** Counts the tasks that match, up to 10,000. */
  async count(_filter?: TaskQuery, _options?: CountOptions): Promise<TaskCount> {
    return this.unsupported("count tasks");
  }

  /** All tasks that match, newest first. Pages are fetched as they are read. */
  // biome-ignore lint/correctness/useYield: it has none to give.
  async *tasks(_query?: TaskQuery, _options?: { pageSize?: number }): AsyncGenerator<Task> {
    this.unsupported("list tasks");
  }

  /** Events of the yard: a snapshot, then changes. Continues after a lost connection. */
  // biome-ignore lint/correctness/useYield: it has none to give.
  async *events(_options?: EventOptions): AsyncGenerator<StreamEvent> {
    this.unsupported("tell what happens");
  }

  /** Decoded messages of the doors, from now on. */
  // biome-ignore lint/correctness/useYield: it has none to give.
  async *wire(_options?: WireOptions): AsyncGenerator<StreamEvent> {
    this.unsupported("show messages on the doors");
  }

  async queues(): Promise<readonly Queue[]> {
    return this.unsupported("list queues");
  }

  /** Rejects with `not_found` if the queue does not exist, unless `create` is set. */
  async orderQueue(_queue: string, _order: QueueOrder, _options?: OrderOptions): Promise<Queue> {
    return this.unsupported("pause or drain a queue");
  }

  /** One queue, with its settings in force and the origin of each. */
  async queue(_queue: string): Promise<QueueDetail> {
    return this.unsupported("show a queue");
  }

  /** Changes settings of a queue. They override the configuration file; `null` resets one. */
  async setQueue(_queue: string, _settings: QueueSettings, _options?: OrderOptions): Promise<QueueDetail> {
    return this.unsupported("change the settings of a queue");
  }

  /** Tasks that the dispatcher submits at set times. */
  get schedules(): Schedules {
    return this.unsupported("have schedules");
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

/** The id of a task, given by id or as it was submitted. */
export function idOf(task: string | Submitted): string {
  return typeof task === "string" ? task : task.id;
}

/** The error of a wait that ended before its task did. */
export function stillOpen(id: string): YardError {
  return new YardError("still_open", `task ${id} is not over yet`);
}
