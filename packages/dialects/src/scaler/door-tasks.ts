// The tasks of the door's clients, from submission to the core until their outcome is known, and
// the graphs to which some of them belong.

import {
  Fifo,
  type Instant,
  NumberedTable,
  type Outcome,
  type RequestAnswer,
  type RequestId,
  type TaskHead,
  type TaskId,
} from "@yardmaster/core";
import { bytesOf } from "../body.js";
import { type AskedIds, answerIn, askedIn, bodyOfTask, isYardTask, madeObjectId, taskIn } from "./bodies.js";
import type { ScalerDoorClient } from "./door-client.js";
import { plainResult } from "./frames.js";
import { planGraph } from "./graph-plan.js";
import { type GraphHost, type GraphNode, ScalerGraph } from "./graph-run.js";
import { hashOf, type IdSecret, IdTable } from "./id-table.js";
import type { ScalerHost } from "./line.js";
import { LiveTask, needsOf } from "./live-task.js";
import type { StoredNode } from "./memos.js";
import type { GraphMessage, OversizedRequest, TaskMessage, TaskResult } from "./messages.js";
import { refusesMissingObjects } from "./missing-objects.js";
import type { ObjectExchange } from "./object-exchange.js";
import type { WriteMemo } from "./object-storage.js";
import { keyOf } from "./objects.js";
import { type IdBytes, idBytes, PackedTask } from "./packed-messages.js";

/** [scaler 4.5] Tasks of a dead client cancelled per turn, so that other work is not delayed. */
const cancelledAtOnce = 1_000;
/** [scaler 6.7] Maximum number of nodes in all unfinished graphs. */
const graphNodesMax = 1_000_000;

export class ScalerTasks {
  readonly #host: ScalerHost;
  readonly #queue: string;
  readonly #exchange: ObjectExchange;
  readonly #secret: IdSecret;
  readonly #live = new IdTable<LiveTask>();
  readonly #graphs = new Map<string, ScalerGraph>();
  /** Tasks not accepted yet, and handlers for the answers to other requests. */
  readonly #requests = new NumberedTable<LiveTask | ((answer: RequestAnswer) => void)>();
  readonly #graphHost: GraphHost;
  readonly #toCancel: LiveTask[] = [];
  readonly #graphsToCancel = new Fifo<ScalerGraph>();
  #graphNodes = 0;

  constructor(
    { queue, idSecret }: { readonly queue: string; readonly idSecret: IdSecret },
    host: ScalerHost,
    exchange: ObjectExchange,
  ) {
    this.#host = host;
    this.#queue = queue;
    this.#secret = idSecret;
    this.#exchange = exchange;
    this.#graphHost = {
      objects: exchange.objects,
      post: (event) => host.post(event),
      write: this.write,
      submit: (node, message) => this.#handOver(this.#liveOf(node), PackedTask.of(message)),
      cancel: (node) => this.#cancel(this.#liveOf(node)),
      forget: (node) => this.#forgetNode(node),
      makeError: (client, task, text) => this.#makeError(client, task, text),
    };
  }

  get size(): number {
    return this.#live.size;
  }

  /** [scaler 2.1] */
  submit(client: ScalerDoorClient, message: PackedTask): void {
    const known = this.#find(message);
    // [scaler 2.5] A repeated task runs once, and its outcome answers both requests.
    if (client.isRepeated(message, known)) return this.#host.fault("repeated_task", client.name);
    const reason =
      known === undefined ? this.#refuse(client, [message]) : "Another client has a task of this id.";
    if (reason !== undefined) return this.#fail(client, message.task, reason);
    if (this.#lacksObjects(client, message, [message])) return;
    const live = this.#enter(client, undefined, message.idToKeep());
    client.tasks.add(live);
    this.#handOver(live, message);
  }

  /** [scaler 6.1] The message is kept, so its frames must be copies. */
  submitGraph(client: ScalerDoorClient, message: GraphMessage): void {
    const key = keyOf(message.graph);
    const known = this.#graphs.get(key);
    const asked = { task: message.graph };
    if (client.isRepeated(asked, known)) return this.#host.fault("repeated_graph", client.name);
    const plan = planGraph(message);
    if (!plan.ok) return this.#fail(client, message.graph, plan.reason);
    const isTaken = known !== undefined || message.nodes.some(({ task }) => this.#findId(task) !== undefined);
    const reason = isTaken
      ? "The graph, or a task of it, has the id of another."
      : this.#refuse(client, message.nodes);
    if (reason !== undefined) return this.#fail(client, message.graph, reason);
    if (this.#lacksObjects(client, asked, message.nodes)) return;
    if (this.#graphNodes + plan.nodes.size > graphNodesMax) {
      this.#host.fault("graph_limit", client.name);
      return client.tell(plainResult(message.graph, "W"));
    }
    this.#enterGraph(new ScalerGraph(message, plan, client, this.#graphHost)).start();
  }

  /** [scaler 2.7] [scaler 6.8] */
  refuse(client: ScalerDoorClient, { id, reason }: OversizedRequest): void {
    this.#fail(client, id, reason);
  }

  /** [scaler 2.2] Returns false if the client has no such task. */
  cancel(client: ScalerDoorClient, task: Buffer): boolean {
    const live = this.#findId(task);
    if (live === undefined || live.client !== client) return false;
    if (live.node?.state === "waiting") live.node.graph.cancelWaiting(live.node);
    else this.#cancel(live);
    return true;
  }

  cancelGraph(client: ScalerDoorClient, graph: Buffer): boolean {
    const known = this.#graphs.get(keyOf(graph));
    if (known === undefined || known.client !== client) return false;
    known.cancel();
    return true;
  }

  /** [scaler 4.5] Cancels everything that the client requested, in several turns. */
  cancelAll(client: ScalerDoorClient): void {
    for (const graph of client.graphs) this.#graphsToCancel.push(graph);
    for (const live of client.tasks.takeAll()) this.#toCancel.push(live);
  }

  reply(request: RequestId, answer: RequestAnswer): void {
    const live = this.#requests.take(request);
    if (live === undefined) return;
    if (typeof live === "function") return live(answer);
    if (answer.type === "accepted") {
      live.task = answer.task;
      if (live.isCancelWanted) this.#cancel(live);
    } else if (answer.type === "refused") this.#refused(live, answer.code, answer.message);
  }

  /** Delivers an outcome. `clientOf` finds the client for which it is meant. */
  tell(head: TaskHead, outcome: Outcome, clientOf: (source: Buffer) => ScalerDoorClient | undefined): void {
    const asked = askedIn(head.envelope);
    const live = asked && this.#find(asked);
    const client = live?.client ?? (asked && clientOf(asked.source));
    if (live !== undefined) this.#forget(live);
    if (client === undefined || asked === undefined) {
      this.#host.post({ type: "outcome-undelivered", task: head.id, again: false });
      return;
    }
    const result = client.isDead ? plainResult(asked.task, "C") : this.#resultFor(client, asked, outcome);
    if (live?.node === undefined) client.tell(result, { task: head.id, saidOver: live?.saidOver ?? 0 });
    else live.node.graph.nodeEnded(live.node, result, head.id);
  }

  /** Commits a memo. */
  readonly write: WriteMemo = (memo, whenSafe) => {
    this.#host.post({ ...memo, request: this.#requests.put(whenSafe) });
  };

  /** The core's id of a task that was accepted before the restart and has no outcome yet. */
  restoredTask(id: Buffer): TaskId | undefined {
    const live = this.#findId(id);
    return live?.isRestored === true ? live.task : undefined;
  }

  /** True while the door knows of no outcome. */
  isOpen = (id: Buffer): boolean => this.#findId(id) !== undefined;
  /** [scaler 8.2] Restores a task accepted before the restart. Its graph must be restored first. */
  restoreTask(head: TaskHead, clientOf: (source: Buffer) => ScalerDoorClient): void {
    const message = taskIn(head.payload);
    if (message === undefined) return;
    const known = this.#find(message);
    const live = known ?? this.#enter(clientOf(message.source), undefined, message.idToKeep());
    if (known?.node !== undefined) known.node.state = "submitted";
    live.task = head.id;
    live.isRestored = true;
    // Two undelivered tasks may have the same id: the client repeated the request after the first
    // one had ended.
    const before = live.needs;
    live.needs = needsOf(this.#exchange.objects, message);
    for (const object of before) this.#exchange.objects.release(object);
    live.client.tasks.add(live);
  }

  /** Restores a graph. Call this before restoring tasks. */
  restoreGraph(message: GraphMessage, client: ScalerDoorClient): void {
    const plan = planGraph(message);
    if (plan.ok) this.#enterGraph(new ScalerGraph(message, plan, client, this.#graphHost));
  }

  /** Restores the progress of graphs and continues them, once graphs and tasks are there. */
  resumeGraphs(nodes: readonly StoredNode[]): void {
    // A graph that has ended only needs to be reported, and is no longer found by its id.
    const graphs = [...this.#graphs.values()];
    for (const { graph, result } of nodes) {
      const known = this.#graphs.get(keyOf(graph));
      const node = known?.nodes.get(keyOf(result.task));
      if (node !== undefined) known?.restoreEnded(node, result);
    }
    for (const graph of graphs) graph.goOn();
  }

  nextDeadline(): Instant | undefined {
    return this.#toCancel.length + this.#graphsToCancel.size > 0 ? (0 as Instant) : undefined;
  }

  handleTimeout(): void {
    for (let nodes = 0; nodes < cancelledAtOnce; ) {
      const graph = this.#graphsToCancel.shift();
      if (graph === undefined) break;
      nodes += graph.nodes.size;
      graph.cancel();
    }
    for (const live of this.#toCancel.splice(0, cancelledAtOnce)) this.#cancel(live);
  }

  #enterGraph(graph: ScalerGraph): ScalerGraph {
    this.#graphs.set(keyOf(graph.id), graph);
    graph.client.graphs.add(graph);
    this.#graphNodes += graph.nodes.size;
    for (const node of graph.nodes.values()) this.#enter(graph.client, node, idBytes(node.task));
    return graph;
  }

  /** `id` must be in memory that may be kept. */
  #enter(client: ScalerDoorClient, node: GraphNode | undefined, id: IdBytes): LiveTask {
    const live = new LiveTask(client, node, this.#hash(id), id);
    this.#live.add(live);
    return live;
  }

  #hash({ bytes, taskAt, taskEnd }: IdBytes): number {
    return hashOf(this.#secret, bytes, taskAt, taskEnd);
  }

  #find(id: IdBytes): LiveTask | undefined {
    return this.#live.get(this.#hash(id), id.bytes, id.taskAt, id.taskEnd);
  }

  #findId(id: Buffer): LiveTask | undefined {
    return this.#find(idBytes(id));
  }

  #liveOf(node: GraphNode): LiveTask {
    return this.#findId(node.task) ?? this.#enter(node.graph.client, undefined, idBytes(node.task));
  }

  #handOver(live: LiveTask, message: PackedTask): void {
    live.needs = needsOf(this.#exchange.objects, message);
    this.#host.post({
      type: "task-submitted",
      request: this.#requests.put(live),
      submission: {
        queue: this.#queue,
        payload: bodyOfTask(message),
        // [scaler 2.4] In this dialect a lower number is more urgent, in the core a higher one.
        priority: 0 - message.priority,
        replyTo: live.client.replyTo,
        envelope: message.envelope,
        by: live.client.line?.by,
      },
    });
    live.client.line?.submitted?.();
  }

  /** [scaler 5.9] */
  #lacksObjects(
    client: ScalerDoorClient,
    asked: { readonly task: Buffer },
    tasks: readonly TaskMessage[],
  ): boolean {
    if (this.#exchange.objects.hasRoomForMissing) return false;
    return refusesMissingObjects(this.#exchange, this.#host, client, { id: asked.task, tasks });
  }

  /** Returns why these tasks of one client are refused; undefined if they are accepted. */
  #refuse(client: ScalerDoorClient, messages: readonly TaskMessage[]): string | undefined {
    if (client.line?.may?.("submit") === false) {
      this.#host.fault("denied", client.name);
      return `This client may not submit to queue ${this.#queue}.`;
    }
    for (const message of messages) {
      const reason = this.#refuseTask(client, PackedTask.of(message));
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  #refuseTask(client: ScalerDoorClient, message: PackedTask): string | undefined {
    if (!message.isFrom(client.id)) {
      this.#host.fault("wrong_source", client.name);
      return "A task's source is the client that submits it.";
    }
    if (isYardTask(message)) return "Ids that begin with yardtask are the dispatcher's own.";
    if (!this.#exchange.hasRefused) return undefined;
    for (const id of [message.function, ...message.arguments.map(({ id }) => id)]) {
      const why = this.#exchange.whyRefused(id);
      if (why !== undefined) return `Object ${id.toString("hex")} ${why}`;
    }
    return undefined;
  }

  #refused(live: LiveTask, code: string, message: string): void {
    // [scaler 2.6] There is no room at the moment.
    if (code === "queue_full" || code === "not_ready") this.#end(live, plainResult(live.id, "W"));
    else this.#end(live, this.#failure(live.client, live.id, message));
  }

  #cancel(live: LiveTask): void {
    live.isCancelWanted = true;
    if (live.task === undefined) return;
    const request = this.#requests.put((answer: RequestAnswer) => {
      if (answer.type === "refused" && answer.code === "not_found") this.#vanished(live);
    });
    this.#host.post({ type: "cancel-asked", request, task: live.task, by: `client ${live.client.name}` });
  }

  /** The task ended before the restart, and the time to deliver its outcome is over. */
  #vanished(live: LiveTask): void {
    if (this.#findId(live.id) === live) this.#end(live, plainResult(live.id, "C"));
  }

  #end(live: LiveTask, result: TaskResult): void {
    this.#forget(live);
    if (live.node === undefined) live.client.tell(result);
    else live.node.graph.nodeEnded(live.node, result, undefined);
  }

  #forget(live: LiveTask): void {
    this.#live.delete(live);
    live.client.tasks.delete(live);
    for (const object of live.needs) this.#exchange.objects.release(object);
    live.needs = [];
  }

  #forgetNode(node: GraphNode): void {
    this.#graphNodes -= 1;
    const live = this.#findId(node.task);
    if (live?.node === node) this.#forget(live);
    if (node.graph.isOver) this.#graphs.delete(keyOf(node.graph.id));
  }

  /** [scaler 2.6] */
  #resultFor(client: ScalerDoorClient, asked: AskedIds, { state, result, error }: Outcome): TaskResult {
    const answer = state === "done" || state === "failed" ? answerIn(result, asked) : undefined;
    const status = state === "done" ? "S" : "F";
    if (answer !== undefined) {
      if (answer.status === status) return answer;
      const { task, metadata, results } = answer;
      return { type: "task-result", task, status, metadata, results };
    }
    const { task } = asked;
    if (state === "cancelled") return plainResult(task, "C");
    if (state === "done") {
      const id = madeObjectId(client.id, task, "result");
      this.#exchange.make(client.key, id, "<result>", bytesOf(result));
      return { ...plainResult(task, "S"), results: [id] };
    }
    if (error?.code === "poison") return plainResult(task, "K");
    return this.#failure(client, task, error?.message ?? `The task ended ${state}.`);
  }

  #fail(client: ScalerDoorClient, task: Buffer, text: string): void {
    client.tell(this.#failure(client, task, text));
  }

  #failure(client: ScalerDoorClient, task: Buffer, text: string): TaskResult {
    return { ...plainResult(task, "F"), results: [this.#makeError(client, task, text)] };
  }

  #makeError(client: ScalerDoorClient, task: Buffer, text: string): Buffer {
    return this.#exchange.makeError(client.key, madeObjectId(client.id, task, "error"), text);
  }
}
