// A client's end of the dialect. It holds the objects that its tasks need, submits tasks and
// graphs, fetches their results, and cancels. It remembers each request until it is answered and
// repeats it over a new connection: the scheduler knows a task by its client and id, and a client
// by its identity. Time is an argument; the session returns what to do.

import type { Instant, Moment } from "@yardmaster/core";
import { ownBytes } from "../body.js";
import { ClientObjects } from "./client-objects.js";
import { HeartbeatPace, type HeartbeatPaceSettings } from "./heartbeat-pace.js";
import { documentSerializerId, serializerObjectId } from "./ids.js";
import type {
  Argument,
  ClientMessage,
  GraphMessage,
  ObjectAnswer,
  TaskMessage,
  TaskResult,
  ToClient,
} from "./messages.js";
import { keyOf } from "./objects.js";
import { taskMetadata } from "./structs.js";

export const defaultScalerClientSettings: HeartbeatPaceSettings = {
  heartbeatMs: 2_000,
  schedulerTimeoutMs: 60_000,
};

export interface ClientResources {
  /** In thousandths of a core. */
  readonly cpu: number;
  readonly rssBytes: bigint;
}

export interface ScalerClientHost {
  send(message: ClientMessage): void;
  /** Closes the connection and opens a new one. The host calls `connected` when it is open. */
  reconnect(): void;
  resources(): ClientResources;
}

/** Why there is no result. `result_missing`: the scheduler has lost the result's object. */
export type ScalerFailure =
  | "failed"
  | "cancelled"
  | "not_found"
  | "worker_died"
  | "no_worker"
  | "result_missing";

/** Receives the outcome of a task, once. */
export interface ScalerWaiter {
  /** A graph's own result is empty. */
  done(result: Buffer): void;
  /** `error` holds the bytes of the error object, if there is one. */
  failed(reason: ScalerFailure, error: Buffer | undefined): void;
}

export interface ScalerTaskRequest {
  readonly task: Buffer;
  /** The objects must already be held. The session releases them when the task ends. */
  readonly function: Buffer;
  readonly arguments: readonly Argument[];
  /** Lower is more urgent. */
  readonly priority: number;
}

export interface ScalerGraphRequest {
  readonly graph: Buffer;
  readonly nodes: readonly ScalerTaskRequest[];
  /** Nodes whose results the client wants, each with the waiter that receives the result. */
  readonly targets: readonly (readonly [Buffer, ScalerWaiter])[];
}

interface PendingRequest {
  readonly id: Buffer;
  readonly waiter: ScalerWaiter;
  /** Repeated over a new connection. Undefined for a graph's target: its graph is repeated. */
  readonly message: TaskMessage | GraphMessage | undefined;
  /** Keys of the targets whose outcome has not arrived; empty for a task. */
  readonly targets: Set<string>;
  readonly graph: PendingRequest | undefined;
  /** Objects to release when the request ends. */
  readonly held: Buffer[];
  readonly results: Buffer[];
  /** Number of the connection over which it was last sent; 0 while it was never sent. */
  saidOver: number;
  isCancelled: boolean;
  isAnswered: boolean;
}

type Taker = (bytes: Buffer | undefined, now: Moment) => void;

export class ScalerClientSession {
  readonly objects: ClientObjects;
  readonly #identity: Buffer;
  readonly #pace: HeartbeatPace;
  readonly #host: ScalerClientHost;
  /** Unfinished tasks, graphs and targets of graphs, by id. */
  readonly #asked = new Map<string, PendingRequest>();
  readonly #fetches = new Map<string, { readonly id: Buffer; readonly takers: Taker[] }>();
  readonly #shutdowns: ((isAccepted: boolean) => void)[] = [];
  #isConnected = false;
  /** True between connecting and the first echo. */
  #isResuming = false;
  #connection = 0;

  /** `serializer`: content of the client's serializer object, opaque to the scheduler. */
  constructor(identity: Buffer, serializer: Buffer, settings: HeartbeatPaceSettings, host: ScalerClientHost) {
    this.#identity = identity;
    this.#pace = new HeartbeatPace(settings);
    this.#host = host;
    this.objects = new ClientObjects(identity, (message) => {
      if (this.#isConnected) host.send(message);
    });
    for (const id of [serializerObjectId(identity), documentSerializerId(identity)])
      this.objects.hold("serializer", serializer, id);
  }

  /** Number of tasks and graphs that have not ended. */
  get waiting(): number {
    return this.#asked.size;
  }

  connected(now: Moment): void {
    this.#isConnected = true;
    this.#isResuming = true;
    this.#connection += 1;
    this.#pace.restart();
    // [scaler 10.5] The heartbeat goes first: the original scheduler drops an object whose owner it
    // does not know.
    this.#beat(now);
    this.objects.tellAll();
    for (const asked of this.#asked.values()) if (asked.saidOver === 0) this.#say(asked);
    for (const { id } of this.#fetches.values()) this.#host.send({ type: "object-request", ids: [id] });
    for (const _ of this.#shutdowns) this.#host.send({ type: "client-disconnect", kind: "shutdown" });
  }

  disconnected(): void {
    this.#isConnected = false;
  }

  submit(request: ScalerTaskRequest, waiter: ScalerWaiter): void {
    const message = this.#taskOf(request);
    this.#ask({ ...asking(request.task, message, waiter), held: heldBy(message) });
  }

  /** `waiter` receives the outcome of the graph as a whole. */
  submitGraph({ graph, nodes, targets }: ScalerGraphRequest, waiter: ScalerWaiter): void {
    const message: GraphMessage = {
      type: "graph",
      graph,
      source: this.#identity,
      targets: targets.map(([id]) => id),
      nodes: nodes.map((node) => this.#taskOf(node)),
    };
    const asked = {
      ...asking(graph, message, waiter),
      targets: new Set(message.targets.map(keyOf)),
      held: message.nodes.flatMap(heldBy),
    };
    for (const [id, its] of targets)
      this.#asked.set(keyOf(id), { ...asking(id, undefined, its), graph: asked });
    this.#ask(asked);
  }

  /** The waiter is called when the scheduler confirms, or at once if the request was never sent. */
  cancel(id: Buffer, now: Moment): void {
    const found = this.#asked.get(keyOf(id));
    const asked = found?.graph ?? found;
    if (asked === undefined || asked.isCancelled || asked.isAnswered) return;
    asked.isCancelled = true;
    if (asked.saidOver > 0) this.#sayCancelled(asked);
    else this.#failed(asked, "cancelled", undefined, now);
  }

  /** `answer` receives true if the whole system will shut down. */
  shutDown(answer: (isAccepted: boolean) => void): void {
    this.#shutdowns.push(answer);
    if (this.#isConnected) this.#host.send({ type: "client-disconnect", kind: "shutdown" });
  }

  /** [scaler 4.5] The scheduler cancels its tasks and deletes its objects. No waiter is called. */
  leave(): ScalerWaiter[] {
    if (this.#isConnected) this.#host.send({ type: "client-disconnect", kind: "disconnect" });
    this.#isConnected = false;
    const waiters = [...this.#asked.values()].map(({ waiter }) => waiter);
    this.#asked.clear();
    this.#fetches.clear();
    for (const answer of this.#shutdowns.splice(0)) answer(false);
    return waiters;
  }

  receive(message: ToClient, now: Moment): void {
    switch (message.type) {
      case "task-result":
        this.#result(message, now);
        break;
      case "object-answer":
        this.#fetched(message, now);
        break;
      case "client-heartbeat-echo":
        this.#echoed(now);
        break;
      case "shutdown-response":
        this.#shutdowns.shift()?.(message.isAccepted);
        break;
      default:
        message satisfies never;
    }
  }

  nextDeadline(): Instant | undefined {
    if (!this.#isConnected) return undefined;
    const [beat, deletion] = [this.#pace.nextDeadline, this.objects.nextDeadline()];
    return deletion !== undefined && deletion < beat ? deletion : beat;
  }

  handleTimeout(now: Moment): void {
    if (!this.#isConnected) return;
    this.objects.handleTimeout(now);
    const due = this.#pace.due(now);
    if (due === "heartbeat") this.#beat(now);
    else if (due === "reconnect") {
      this.#isConnected = false;
      this.#host.reconnect();
    }
  }

  #beat(now: Moment): void {
    this.#host.send({ type: "client-heartbeat", latencyUs: this.#pace.latencyUs, ...this.#host.resources() });
    this.#pace.sent(now);
  }

  /** [scaler 4.3] Missed outcomes come before the first echo, so now the rest is sent again. */
  #echoed(now: Moment): void {
    this.#pace.echoed(now);
    if (!this.#isResuming) return;
    this.#isResuming = false;
    for (const asked of this.#asked.values()) if (asked.saidOver < this.#connection) this.#say(asked);
  }

  #taskOf({ task, function: called, arguments: given, priority }: ScalerTaskRequest): TaskMessage {
    const metadata = taskMetadata(priority);
    return { type: "task", task, source: this.#identity, metadata, function: called, arguments: given };
  }

  #ask(asked: PendingRequest): void {
    this.#asked.set(keyOf(asked.id), asked);
    if (!this.#isConnected) return;
    this.objects.tell();
    this.#say(asked);
  }

  #say(asked: PendingRequest): void {
    if (asked.message === undefined || asked.isAnswered) return;
    asked.saidOver = this.#connection;
    this.#host.send(asked.message);
    if (asked.isCancelled) this.#sayCancelled(asked);
  }

  /** A request that was not yet repeated over this connection is cancelled when it is repeated. */
  #sayCancelled({ id, message, saidOver }: PendingRequest): void {
    if (!this.#isConnected || saidOver < this.#connection) return;
    this.#host.send(
      message?.type === "graph" ? { type: "graph-cancel", graph: id } : { type: "task-cancel", task: id },
    );
  }

  #result({ task, status, results }: TaskResult, now: Moment): void {
    const asked = this.#asked.get(keyOf(task));
    const [result] = results;
    if (asked === undefined || asked.isAnswered) {
      // [scaler 10.6] A repeated outcome: delete its object unless it is being fetched, because no
      // waiter is left to fetch it.
      for (const id of results) if (!this.#fetches.has(keyOf(id))) this.objects.discard(ownBytes(id), now);
      return;
    }
    if (status === "S" || status === "F") {
      asked.isAnswered = true;
      if (result === undefined) this.#ended(asked, status, undefined, now);
      else this.#fetch(asked, status, ownBytes(result));
      return;
    }
    const failure = failures[status];
    if (failure !== undefined) this.#failed(asked, failure, undefined, now);
  }

  #fetch(asked: PendingRequest, status: "S" | "F", id: Buffer): void {
    (asked.graph ?? asked).results.push(id);
    const taker: Taker = (bytes, now) => this.#ended(asked, status, bytes, now);
    const fetch = this.#fetches.get(keyOf(id));
    if (fetch !== undefined) {
      fetch.takers.push(taker);
      return;
    }
    this.#fetches.set(keyOf(id), { id, takers: [taker] });
    this.#host.send({ type: "object-request", ids: [id] });
  }

  #fetched({ kind, ids, bytes }: ObjectAnswer, now: Moment): void {
    const key = keyOf(ids[0] as Buffer);
    const fetch = this.#fetches.get(key);
    if (fetch === undefined || ids.length !== 1) return;
    this.#fetches.delete(key);
    const [content] = bytes;
    for (const taker of fetch.takers) taker(kind === "content" ? content : undefined, now);
  }

  #ended(asked: PendingRequest, status: "S" | "F", bytes: Buffer | undefined, now: Moment): void {
    const isWholeGraph = asked.message?.type === "graph";
    if (status === "F") this.#failed(asked, "failed", bytes, now);
    else if (bytes === undefined && !isWholeGraph) this.#failed(asked, "result_missing", undefined, now);
    else {
      this.#over(asked, now);
      this.#failTargets(asked, "result_missing", undefined, now);
      asked.waiter.done(bytes ?? Buffer.alloc(0));
    }
  }

  #failed(asked: PendingRequest, reason: ScalerFailure, error: Buffer | undefined, now: Moment): void {
    this.#over(asked, now);
    this.#failTargets(asked, reason, error, now);
    asked.waiter.failed(reason, error);
  }

  /** Targets are reported before their graph: one without an outcome will not get any. */
  #failTargets(
    { targets }: PendingRequest,
    reason: ScalerFailure,
    error: Buffer | undefined,
    now: Moment,
  ): void {
    for (const key of targets) {
      const target = this.#asked.get(key);
      if (target !== undefined && !target.isAnswered) this.#failed(target, reason, error, now);
    }
  }

  #over(asked: PendingRequest, now: Moment): void {
    const { graph } = asked;
    this.#asked.delete(keyOf(asked.id));
    if (graph !== undefined) {
      graph.targets.delete(keyOf(asked.id));
      // The graph may end before this result was read.
      if (!this.#asked.has(keyOf(graph.id))) this.#discard(graph, now);
      return;
    }
    for (const id of asked.held) this.objects.release(id, now);
    if (asked.targets.size === 0) this.#discard(asked, now);
  }

  /** Deletes results that were read. A graph's go together: another node may need a target. */
  #discard(asked: PendingRequest, now: Moment): void {
    if (asked.targets.size > 0) return;
    for (const id of asked.results.splice(0))
      if (!this.#fetches.has(keyOf(id))) this.objects.discard(id, now);
  }
}

const failures: Partial<Record<TaskResult["status"], ScalerFailure>> = {
  C: "cancelled",
  N: "not_found",
  K: "worker_died",
  W: "no_worker",
};

function asking(id: Buffer, message: PendingRequest["message"], waiter: ScalerWaiter): PendingRequest {
  return {
    id,
    waiter,
    message,
    targets: new Set(),
    graph: undefined,
    held: [],
    results: [],
    saidOver: 0,
    isCancelled: false,
    isAnswered: false,
  };
}

function heldBy({ function: called, arguments: given }: TaskMessage): Buffer[] {
  return [called, ...given.filter(({ kind }) => kind === "R").map(({ id }) => id)];
}
