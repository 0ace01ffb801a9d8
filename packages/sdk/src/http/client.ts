// The client of the http door, which supports every operation.

import type {
  Action,
  ActionOptions,
  CancelFilter,
  CountOptions,
  RetryFilter,
  TaskCount,
} from "../actions.js";
import type { YardAddress } from "../address.js";
import { Body, type Bodylike } from "../body.js";
import {
  type ConnectOptions,
  type EventOptions,
  type GraphItem,
  type GraphTask,
  idOf,
  type OrderOptions,
  type Outcome,
  type QueueOrder,
  type ResultOptions,
  type RetryOptions,
  type StreamEvent,
  type SubmitItem,
  type SubmitManyOptions,
  type SubmitOptions,
  type Submitted,
  type SubmittedItem,
  stillOpen,
  type WatchOptions,
  type WireOptions,
  YardClient,
} from "../client.js";
import { TaskEndedError, YardError } from "../errors.js";
import { refuseUnknownOptions, resultOptions } from "../options.js";
import type { Schedules } from "../schedules.js";
import {
  type DoorAddresses,
  hasEnded,
  type Queue,
  type QueueDetail,
  type QueueSettings,
  type Task,
  type TaskQuery,
  type WorkerView,
} from "../task.js";
import { actionEnd, actionPath, beginAction } from "./actions.js";
import { submitInBatches } from "./batches.js";
import { duration, HttpConnection, type HttpRequest } from "./connection.js";
import { listen } from "./listening.js";
import { HttpSchedules } from "./schedules.js";
import { checkOptions, itemOf, minimal, queuePart } from "./submission.js";
import { Submissions, submitAlone } from "./submissions.js";
import { type Finished, pathOf, pollMs, untilEnded, watchTask } from "./watching.js";

/** How long a task may wait to share a request while another request is open. */
const submitDelayDefaultMs = 2;

/** The client of the http door. It can do everything that a `YardClient` has. */
export class HttpClient extends YardClient {
  readonly acknowledges = true;
  readonly #connection: HttpConnection;

  readonly #submissions: Submissions;
  /** Ends the watches that are under way. */
  readonly #closing = new AbortController();

  constructor(address: YardAddress, options: ConnectOptions = {}) {
    const { token, tls, submitDelayMs = submitDelayDefaultMs } = options;
    super("http", address);
    this.#connection = new HttpConnection(address, { token, tls });
    this.#submissions = new Submissions(this.#connection, submitDelayMs);
  }

  async submit(payload: Bodylike, options: SubmitOptions = {}): Promise<Submitted> {
    checkOptions(options);
    return this.#submissions.submit(queuePart(options.queue), payload, options);
  }

  /** One request, unless the task takes longer than a long poll. */
  override async call(payload: Bodylike, options: SubmitOptions & ResultOptions = {}): Promise<Outcome> {
    const { signal, waitMs = Number.POSITIVE_INFINITY, ...submission } = options;
    checkOptions(submission);
    const firstMs = Math.min(waitMs, pollMs);
    const task = await submitAlone<Finished>(
      this.#connection,
      queuePart(submission.queue),
      { payload, options: submission },
      { query: { wait: duration(firstMs) }, headers: minimal, signal },
    );
    const body = resultIn(task);
    if (body !== undefined) return { id: task.id, body };
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

  async result(task: string | Submitted, options: ResultOptions = {}): Promise<Body> {
    refuseUnknownOptions("result", options, resultOptions);
    const { signal, waitMs } = options;
    const id = idOf(task);
    const ended = await untilEnded(this.#connection, id, { signal, waitMs });
    if (ended === undefined) throw stillOpen(id);
    return resultIn(ended) ?? this.#outcome(ended, signal);
  }

  override async *watch(task: string | Submitted, options: WatchOptions = {}): AsyncGenerator<Task> {
    refuseUnknownOptions("watch", options, ["signal"]);
    const { signal } = options;
    const closing = this.#closing.signal;
    const either = signal === undefined ? closing : AbortSignal.any([signal, closing]);
    yield* watchTask(this.#connection, idOf(task), either);
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

  override retry(task: string | Submitted, { dependents }: RetryOptions = {}): Promise<Task> {
    return this.#post(`${pathOf(idOf(task))}:retry`, dependents ? { dependents: "true" } : {});
  }

  override async submitGraph(items: Iterable<GraphItem>): Promise<readonly GraphTask[]> {
    const lines: string[] = [];
    let isKeyed = true;
    for (const { payload, name, ...options } of items) {
      checkOptions(options);
      lines.push(`${JSON.stringify({ name, queue: options.queue, ...itemOf(payload, options) })}\n`);
      isKeyed &&= options.key !== undefined;
    }
    const answer = await this.#connection.json<{ items: GraphTask[] }>("/v1/tasks:graph", {
      method: "POST",
      body: Buffer.from(lines.join("")),
      headers: { "Content-Type": "application/x-ndjson" },
      // If every item has a key, submitting the graph again returns the same tasks.
      isRepeatable: isKeyed,
    });
    return answer.items;
  }

  override cancelMany(filter: CancelFilter): Promise<Action> {
    return beginAction(this.#connection, "/v1/tasks:cancel", filter);
  }

  override retryMany(filter: RetryFilter): Promise<Action> {
    return beginAction(this.#connection, "/v1/tasks:retry", filter);
  }

  override purge(queue: string): Promise<Action> {
    return beginAction(this.#connection, `/v1/queues/${encodeURIComponent(queue)}:purge`);
  }

  override action(id: string | Action): Promise<Action> {
    return this.#connection.json(actionPath(id));
  }

  override async actions(): Promise<readonly Action[]> {
    return (await this.#connection.json<{ items: Action[] }>("/v1/actions")).items;
  }

  override stopAction(id: string | Action): Promise<Action> {
    return this.#post(`${actionPath(id)}:stop`);
  }

  override async actionEnd(id: string | Action, options: ActionOptions = {}): Promise<Action> {
    refuseUnknownOptions("actionEnd", options, ["signal", "onProgress"]);
    return actionEnd(this.#connection, id, options);
  }

  override count(filter: TaskQuery = {}, { buckets }: CountOptions = {}): Promise<TaskCount> {
    return this.#connection.json("/v1/tasks:count", { query: { ...filter, buckets } });
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

  override events({ types, queues, tasks, ...options }: EventOptions = {}): AsyncGenerator<StreamEvent> {
    const query = { types: types?.join(","), queue: queues?.join(","), task: tasks?.map(idOf).join(",") };
    return listen(this.#connection, "/v1/events", query, options);
  }

  override wire({ door, max, ...options }: WireOptions = {}): AsyncGenerator<StreamEvent> {
    return listen(this.#connection, "/v1/wire", { door, max: max?.toString() }, options);
  }

  override async queues(): Promise<readonly Queue[]> {
    return (await this.#connection.json<{ items: Queue[] }>("/v1/queues")).items;
  }

  override orderQueue(queue: string, order: QueueOrder, { create }: OrderOptions = {}): Promise<Queue> {
    return this.#post(`/v1/queues/${encodeURIComponent(queue)}:${order}`, create ? { create: "true" } : {});
  }

  override queue(queue: string): Promise<QueueDetail> {
    return this.#connection.json(`/v1/queues/${encodeURIComponent(queue)}`);
  }

  override setQueue(
    queue: string,
    settings: QueueSettings,
    { create }: OrderOptions = {},
  ): Promise<QueueDetail> {
    return this.#connection.json(`/v1/queues/${encodeURIComponent(queue)}`, {
      method: "PATCH",
      query: create ? { create: "true" } : {},
      body: Buffer.from(JSON.stringify(settings)),
      headers: { "Content-Type": "application/json" },
      isRepeatable: true,
    });
  }

  override get schedules(): Schedules {
    return new HttpSchedules(this.#connection);
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

  /** The dispatcher's metrics in Prometheus text format. */
  async metrics(): Promise<string> {
    return (await this.#connection.ask("/metrics")).body.toString("utf8");
  }

  /** Any other answer of the door, as JSON. */
  get<Answer>(path: string, query: Readonly<Record<string, string | undefined>> = {}): Promise<Answer> {
    return this.#connection.json(path, { query });
  }

  async close(): Promise<void> {
    this.#closing.abort(new YardError("closed", "the client was closed"));
    this.#connection.close();
  }

  #task(id: string, signal?: AbortSignal): Promise<Task> {
    return this.#connection.json(pathOf(id), { signal });
  }

  async #outcome({ id, state, error }: Finished, signal?: AbortSignal): Promise<Body> {
    if (state !== "done") throw new TaskEndedError(id, state as never, error);
    return this.#body(`${pathOf(id)}/result`, signal);
  }

  async #body(path: string, signal?: AbortSignal): Promise<Body> {
    const { body, headers } = await this.#connection.ask(path, { signal });
    return new Body(body, headers["content-type"]);
  }

  #post<Answer>(path: string, query: HttpRequest["query"] = {}): Promise<Answer> {
    return this.#connection.json(path, { method: "POST", query, isRepeatable: true });
  }
}

function resultIn({ state, contentType, result, resultBase64 }: Finished): Body | undefined {
  if (state !== "done") return undefined;
  if (result !== undefined) return new Body(Buffer.from(result), contentType);
  return resultBase64 === undefined ? undefined : new Body(Buffer.from(resultBase64, "base64"), contentType);
}
