// The client of the http door, which can do everything.

import type { YardAddress } from "../address.js";
import { Body, type Bodylike, bodyOf } from "../body.js";
import {
  type ConnectOptions,
  idOf,
  type ListenOptions,
  type OrderOptions,
  type Outcome,
  type QueueOrder,
  type ResultOptions,
  type StreamEvent,
  type SubmitItem,
  type SubmitManyOptions,
  type SubmitOptions,
  type Submitted,
  type SubmittedItem,
  stillOpen,
  YardClient,
} from "../client.js";
import { TaskEndedError } from "../errors.js";
import { pause } from "../pause.js";
import {
  type DoorAddresses,
  hasEnded,
  type Queue,
  type Task,
  type TaskQuery,
  type WorkerView,
} from "../task.js";
import { submitInBatches } from "./batches.js";
import { duration, HttpConnection, type HttpQuestion } from "./connection.js";
import { listen } from "./listening.js";
import { parametersOf, queuePart } from "./submission.js";

/** One long poll; well below what proxies take for dead. */
const pollMs = 25_000;

export class HttpClient extends YardClient {
  readonly acknowledges = true;
  readonly #connection: HttpConnection;

  constructor(address: YardAddress, { token }: ConnectOptions = {}) {
    super("http", address);
    this.#connection = new HttpConnection(address, token);
  }

  async submit(payload: Bodylike, options: SubmitOptions = {}): Promise<Submitted> {
    const task = await this.#submit(payload, options);
    return { id: task.id, isAcknowledged: true };
  }

  /** In one request, as long as it takes no longer than a long poll. */
  override async call(payload: Bodylike, options: SubmitOptions & ResultOptions = {}): Promise<Outcome> {
    const { signal, waitMs = Number.POSITIVE_INFINITY, ...submission } = options;
    const firstMs = Math.min(waitMs, pollMs);
    const task = await this.#submit(payload, submission, { wait: duration(firstMs) }, signal);
    if (hasEnded(task.state)) return { id: task.id, body: await this.#outcome(task, signal) };
    const rest = waitMs === Number.POSITIVE_INFINITY ? {} : { waitMs: waitMs - firstMs };
    return { id: task.id, body: await this.result(task.id, { ...(signal ? { signal } : {}), ...rest }) };
  }

  submitMany(
    items: Iterable<SubmitItem> | AsyncIterable<SubmitItem>,
    options: SubmitManyOptions = {},
  ): AsyncGenerator<SubmittedItem> {
    return submitInBatches(this.#connection, items, options);
  }

  async result(task: string | Submitted, { signal, waitMs }: ResultOptions = {}): Promise<Body> {
    const id = idOf(task);
    const until = performance.now() + (waitMs ?? Number.POSITIVE_INFINITY);
    for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 1.5, pauseMsMax)) {
      const seen = await this.#task(id, signal);
      if (hasEnded(seen.state)) return this.#outcome(seen, signal);
      const leftMs = until - performance.now();
      if (leftMs <= 0) throw stillOpen(id);
      await pause(Math.min(pauseMs, leftMs), signal);
      signal?.throwIfAborted();
    }
  }

  override task(id: string | Submitted): Promise<Task> {
    return this.#task(idOf(id));
  }

  override async payload(id: string | Submitted): Promise<Body> {
    return this.#body(`${pathOf(idOf(id))}/payload`);
  }

  override cancel(task: string | Submitted): Promise<Task> {
    return this.#post(`${pathOf(idOf(task))}:cancel`);
  }

  override retry(task: string | Submitted): Promise<Task> {
    return this.#post(`${pathOf(idOf(task))}:retry`);
  }

  override async *tasks(query: TaskQuery = {}, { pageSize = 100 } = {}): AsyncGenerator<Task> {
    let cursor: string | undefined;
    do {
      const page: { items: Task[]; cursor: string | null } = await this.#connection.json("/v1/tasks", {
        query: { ...query, limit: pageSize, cursor },
      });
      yield* page.items;
      cursor = page.cursor ?? undefined;
    } while (cursor !== undefined);
  }

  override events(options: ListenOptions = {}): AsyncGenerator<StreamEvent> {
    return listen(this.#connection, "/v1/events", {}, options);
  }

  override wire({
    door,
    ...options
  }: ListenOptions & { readonly door?: string } = {}): AsyncGenerator<StreamEvent> {
    return listen(this.#connection, "/v1/wire", { door }, options);
  }

  override async queues(): Promise<readonly Queue[]> {
    return (await this.#connection.json<{ items: Queue[] }>("/v1/queues")).items;
  }

  override orderQueue(queue: string, order: QueueOrder, { create }: OrderOptions = {}): Promise<Queue> {
    return this.#post(`/v1/queues/${encodeURIComponent(queue)}:${order}`, create ? { create: "true" } : {});
  }

  override async workers(): Promise<readonly WorkerView[]> {
    return (await this.#connection.json<{ items: WorkerView[] }>("/v1/workers")).items;
  }

  override drainWorker(worker: string): Promise<WorkerView> {
    return this.#post(`/v1/workers/${encodeURIComponent(worker)}:drain`);
  }

  override doors(): Promise<DoorAddresses> {
    return this.#connection.json("/v1/doors");
  }

  /** The dispatcher's figures, in Prometheus' text format. */
  async metrics(): Promise<string> {
    return (await this.#connection.ask("/metrics")).body.toString("utf8");
  }

  /** What else the door answers, as JSON. */
  get<Answer>(path: string, query: Readonly<Record<string, string | undefined>> = {}): Promise<Answer> {
    return this.#connection.json(path, { query });
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  #submit(payload: Bodylike, options: SubmitOptions, more: HttpQuestion["query"] = {}, signal?: AbortSignal) {
    const { queue, contentType, key } = options;
    const body = bodyOf(payload);
    return this.#connection.json<Task>(`/v1/queues/${queuePart(queue)}/tasks`, {
      method: "POST",
      query: { ...parametersOf(options), ...more },
      body: body.bytes,
      headers: { "Content-Type": contentType ?? body.contentType },
      signal,
      // With a key, the same again is the same task.
      isRepeatable: key !== undefined,
    });
  }

  #task(id: string, signal?: AbortSignal): Promise<Task> {
    return this.#connection.json(pathOf(id), { signal });
  }

  async #outcome({ id, state, error }: Task, signal?: AbortSignal): Promise<Body> {
    if (state !== "done") throw new TaskEndedError(id, state as never, error);
    return this.#body(`${pathOf(id)}/result`, signal);
  }

  async #body(path: string, signal?: AbortSignal): Promise<Body> {
    const { body, headers } = await this.#connection.ask(path, { signal });
    return new Body(body, headers["content-type"]);
  }

  #post<Answer>(path: string, query: HttpQuestion["query"] = {}): Promise<Answer> {
    return this.#connection.json(path, { method: "POST", query, isRepeatable: true });
  }
}

/** Between two looks at a task that is not over; the door has no way to wait for one handed in before. */
const pauseMsMax = 1_000;

function pathOf(id: string): string {
  return `/v1/tasks/${encodeURIComponent(id)}`;
}
