// The tasks of the door's clients, from when they are handed to the core until their outcome is known; and the graphs that
// some of them belong to.

import type { Answer, Body, Instant, Outcome, RequestId, TaskHead, TaskId } from "@yardmaster/core";
import { bytesOf } from "../body.js";
import { arrayOfParts } from "../parts.js";
import { askedIn, envelopeOf, isYardTask, madeObjectId, namedResult, payloadOf, taskIn } from "./bodies.js";
import type { ScalerDoorClient } from "./door-client.js";
import { none } from "./frames.js";
import { planGraph } from "./graph-plan.js";
import { type GraphHost, type GraphNode, ScalerGraph } from "./graph-run.js";
import type { ScalerHost } from "./line.js";
import type { StoredNode } from "./memos.js";
import type { GraphMessage, TaskMessage, TaskResult, TaskStatus } from "./messages.js";
import type { ObjectExchange } from "./object-exchange.js";
import { keyOf, type ScalerObject } from "./objects.js";
import { priorityOf } from "./structs.js";

export class LiveTask {
  readonly key: string;
  readonly client: ScalerDoorClient;
  readonly node: GraphNode | undefined;
  /** What it needs, from when it was handed to the core. */
  needs: readonly ScalerObject[] = [];
  /** The core's name for it, once it is accepted. */
  task: TaskId | undefined = undefined;
  isCancelWanted = false;
  /** It was accepted in an earlier life. */
  isRestored = false;

  constructor(key: string, client: ScalerDoorClient, node: GraphNode | undefined) {
    this.key = key;
    this.client = client;
    this.node = node;
  }
}

/** [scaler 4.5] Tasks of dead clients that are cancelled in one go: others have their turn in between. */
const cancelledAtOnce = 1_000;
/** [scaler 6.7] Nodes of all graphs that have not ended. */
const graphNodesMax = 1_000_000;

export class ScalerTasks {
  readonly #host: ScalerHost;
  readonly #queue: string;
  readonly #exchange: ObjectExchange;
  readonly #live = new Map<string, LiveTask>();
  readonly #graphs = new Map<string, ScalerGraph>();
  readonly #requests = new Map<RequestId, LiveTask>();
  readonly #whenAnswered = new Map<RequestId, (answer: Answer) => void>();
  readonly #graphHost: GraphHost;
  readonly #toCancel: LiveTask[] = [];
  #graphNodes = 0;
  #lastRequest: RequestId = 0;

  constructor(host: ScalerHost, queue: string, exchange: ObjectExchange) {
    this.#host = host;
    this.#queue = queue;
    this.#exchange = exchange;
    this.#graphHost = {
      objects: exchange.objects,
      post: (event) => host.post(event),
      write: (memo, whenSafe) => {
        this.#lastRequest += 1;
        this.#whenAnswered.set(this.#lastRequest, whenSafe);
        host.post({ ...memo, request: this.#lastRequest });
      },
      submit: (node, message) => this.#handOver(this.#liveOf(node), message),
      cancel: (node) => this.#cancel(this.#liveOf(node)),
      forget: (node) => this.#forgetNode(node),
      makeError: (client, task, text) => this.#makeError(client, task, text),
    };
  }

  get size(): number {
    return this.#live.size;
  }

  /** [scaler 2.1] */
  submit(client: ScalerDoorClient, message: TaskMessage): void {
    const key = keyOf(message.task);
    const known = this.#live.get(key);
    // [scaler 2.5] It is run once, and what became of it answers both.
    if (known?.client === client) return this.#host.fault("repeated_task", client.name);
    const reason =
      known === undefined ? this.#refuse(client, [message]) : "Another client has a task of this id.";
    if (reason !== undefined) return this.#fail(client, message.task, reason);
    const live = new LiveTask(key, client, undefined);
    this.#live.set(key, live);
    client.tasks.add(live);
    this.#handOver(live, message);
  }

  /** [scaler 6.1] The message is kept: its frames have to be in memory of their own. */
  submitGraph(client: ScalerDoorClient, message: GraphMessage): void {
    const key = keyOf(message.graph);
    const known = this.#graphs.get(key);
    if (known?.client === client) return this.#host.fault("repeated_graph", client.name);
    const plan = planGraph(message);
    if (!plan.ok) return this.#fail(client, message.graph, plan.reason);
    const isTaken = known !== undefined || [...plan.nodes.keys()].some((node) => this.#live.has(node));
    const reason = isTaken
      ? "The graph, or a task of it, has the id of another."
      : this.#refuse(client, message.nodes);
    if (reason !== undefined) return this.#fail(client, message.graph, reason);
    if (this.#graphNodes + plan.nodes.size > graphNodesMax) {
      this.#host.fault("graph_limit", client.name);
      return client.tell(plainResult(message.graph, "W"));
    }
    this.#enterGraph(new ScalerGraph(message, plan, client, this.#graphHost)).start();
  }

  /** [scaler 2.2] False when the client has no such task. */
  cancel(client: ScalerDoorClient, task: Buffer): boolean {
    const live = this.#live.get(keyOf(task));
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

  /** [scaler 4.5] All that a client asked for, little by little. */
  cancelAll(client: ScalerDoorClient): void {
    for (const graph of [...client.graphs]) graph.cancel();
    for (const live of client.tasks) this.#toCancel.push(live);
    client.tasks.clear();
  }

  reply(request: RequestId, answer: Answer): void {
    const live = this.#requests.get(request);
    if (live === undefined) {
      const run = this.#whenAnswered.get(request);
      this.#whenAnswered.delete(request);
      return run?.(answer);
    }
    this.#requests.delete(request);
    if (answer.type === "accepted") {
      live.task = answer.task;
      if (live.isCancelWanted) this.#cancel(live);
    } else if (answer.type === "refused") this.#refused(live, answer.code, answer.message);
  }

  /** An outcome. `client` is who it is for, where it is known. */
  tell(head: TaskHead, outcome: Outcome, clientOf: (source: Buffer) => ScalerDoorClient | undefined): void {
    const { task, source } = askedIn(head.envelope) ?? {};
    const live = task && this.#live.get(keyOf(task));
    const client = live?.client ?? (source && clientOf(source));
    if (live !== undefined) this.#forget(live);
    if (client === undefined || task === undefined) {
      this.#host.post({ type: "outcome-undelivered", task: head.id, again: false });
      return;
    }
    const result = client.isDead ? plainResult(task, "C") : this.#resultFor(client, task, outcome);
    if (live?.node === undefined) client.tell(result, head.id);
    else live.node.graph.nodeEnded(live.node, result, head.id);
  }

  /** [scaler 7.1] What a worker of another dialect is given; undefined where an object is not there. */
  payloadFor(head: TaskHead): Body | undefined {
    const message = taskIn(head.payload);
    if (message === undefined) return undefined;
    const parts: Buffer[] = [];
    for (const id of [message.function, ...message.arguments.map(({ id }) => id)]) {
      const content = this.#exchange.contentOf(id);
      if (content === undefined) return undefined;
      parts.push(content.bytes);
    }
    return arrayOfParts(parts);
  }

  /** The core's name for a task that was accepted in an earlier life and has no outcome yet. */
  restoredTask(id: Buffer): TaskId | undefined {
    const live = this.#live.get(keyOf(id));
    return live?.isRestored === true ? live.task : undefined;
  }

  /** [scaler 8.2] A task that was accepted before we were started again. Its graph, if it has one, is there already. */
  restoreTask(head: TaskHead, clientOf: (source: Buffer) => ScalerDoorClient): void {
    const message = taskIn(head.payload);
    if (message === undefined) return;
    const key = keyOf(message.task);
    const known = this.#live.get(key);
    const live = known ?? new LiveTask(key, clientOf(message.source), undefined);
    if (known?.node !== undefined) known.node.state = "submitted";
    live.task = head.id;
    live.isRestored = true;
    live.needs = this.#needsOf(message);
    this.#live.set(key, live);
    live.client.tasks.add(live);
  }

  /** Graphs, before their tasks. */
  restoreGraph(message: GraphMessage, client: ScalerDoorClient): void {
    const plan = planGraph(message);
    if (plan.ok) this.#enterGraph(new ScalerGraph(message, plan, client, this.#graphHost));
  }

  /** When graphs and tasks are there: how far the graphs had come, and on. */
  resumeGraphs(nodes: readonly StoredNode[]): void {
    // One that is over has only to be told, and is not known by its id any more.
    const graphs = [...this.#graphs.values()];
    for (const { graph, result } of nodes) {
      const known = this.#graphs.get(keyOf(graph));
      const node = known?.nodes.get(keyOf(result.task));
      if (node !== undefined) known?.restoreEnded(node, result);
    }
    for (const graph of graphs) graph.goOn();
  }

  nextDeadline(): Instant | undefined {
    return this.#toCancel.length > 0 ? (0 as Instant) : undefined;
  }

  handleTimeout(): void {
    for (const live of this.#toCancel.splice(0, cancelledAtOnce)) this.#cancel(live);
  }

  #enterGraph(graph: ScalerGraph): ScalerGraph {
    this.#graphs.set(keyOf(graph.id), graph);
    graph.client.graphs.add(graph);
    this.#graphNodes += graph.nodes.size;
    for (const [key, node] of graph.nodes) this.#live.set(key, new LiveTask(key, graph.client, node));
    return graph;
  }

  #liveOf({ plan, graph }: GraphNode): LiveTask {
    return this.#live.get(plan.key) ?? new LiveTask(plan.key, graph.client, undefined);
  }

  #handOver(live: LiveTask, message: TaskMessage): void {
    live.needs = this.#needsOf(message);
    this.#lastRequest += 1;
    this.#requests.set(this.#lastRequest, live);
    this.#host.post({
      type: "task-submitted",
      request: this.#lastRequest,
      submission: {
        queue: this.#queue,
        payload: payloadOf(message),
        // [scaler 2.4] The lower is the more urgent there, the higher here.
        priority: 0 - priorityOf(message.metadata),
        replyTo: live.client.replyTo,
        envelope: envelopeOf(message),
      },
    });
  }

  #needsOf(message: TaskMessage): ScalerObject[] {
    const { objects } = this.#exchange;
    const needs = [objects.need(message.function)];
    for (const { id } of message.arguments) needs.push(objects.need(id));
    return needs;
  }

  /** Why these tasks of one client cannot be taken. */
  #refuse(client: ScalerDoorClient, messages: readonly TaskMessage[]): string | undefined {
    for (const message of messages) {
      if (!message.source.equals(client.id)) {
        this.#host.fault("wrong_source", client.name);
        return "A task's source is the client that submits it.";
      }
      if (isYardTask(message.task)) return "Ids that begin with yardtask are the dispatcher's own.";
      const lost = [message.function, ...message.arguments.map(({ id }) => id)].find((id) =>
        this.#exchange.wasRefused(id),
      );
      if (lost !== undefined) {
        return `Object ${lost.toString("hex")} had no room: the dispatcher's objects are at their limit of bytes.`;
      }
    }
    return undefined;
  }

  #refused(live: LiveTask, code: string, message: string): void {
    this.#forget(live);
    const task = Buffer.from(live.key, "latin1");
    // [scaler 2.6] No room, or none now.
    const isFull = code === "queue_full" || code === "not_ready";
    const result = isFull ? plainResult(task, "W") : this.#failure(live.client, task, message);
    if (live.node === undefined) live.client.tell(result);
    else live.node.graph.nodeEnded(live.node, result, undefined);
  }

  #cancel(live: LiveTask): void {
    live.isCancelWanted = true;
    if (live.task === undefined) return;
    this.#lastRequest += 1;
    this.#whenAnswered.set(this.#lastRequest, (answer) => {
      if (answer.type === "refused" && answer.code === "not_found") this.#vanished(live);
    });
    const by = `client ${live.client.name}`;
    this.#host.post({ type: "cancel-asked", request: this.#lastRequest, task: live.task, by });
  }

  /** It ended in an earlier life, and the time to tell of it was over before we could. */
  #vanished(live: LiveTask): void {
    if (this.#live.get(live.key) !== live) return;
    this.#forget(live);
    const result = plainResult(Buffer.from(live.key, "latin1"), "C");
    if (live.node === undefined) live.client.tell(result);
    else live.node.graph.nodeEnded(live.node, result, undefined);
  }

  #forget(live: LiveTask): void {
    this.#live.delete(live.key);
    live.client.tasks.delete(live);
    for (const object of live.needs) this.#exchange.objects.release(object);
    live.needs = [];
  }

  #forgetNode(node: GraphNode): void {
    this.#graphNodes -= 1;
    const live = this.#live.get(node.plan.key);
    if (live?.node === node) this.#forget(live);
    if (node.graph.isOver) this.#graphs.delete(keyOf(node.graph.id));
  }

  /** [scaler 2.6] */
  #resultFor(client: ScalerDoorClient, task: Buffer, { state, result, error }: Outcome): TaskResult {
    const named = namedResult(result);
    if (named !== undefined && (state === "done" || state === "failed")) {
      const { id, metadata } = named;
      return { type: "task-result", task, status: state === "done" ? "S" : "F", metadata, results: [id] };
    }
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
    client.tell(this.#failure(client, Buffer.from(task), text));
  }

  #failure(client: ScalerDoorClient, task: Buffer, text: string): TaskResult {
    return { ...plainResult(task, "F"), results: [this.#makeError(client, task, text)] };
  }

  #makeError(client: ScalerDoorClient, task: Buffer, text: string): Buffer {
    return this.#exchange.makeError(client.key, madeObjectId(client.id, task, "error"), text);
  }
}

function plainResult(task: Buffer, status: TaskStatus): TaskResult {
  return { type: "task-result", task, status, metadata: none, results: [] };
}
