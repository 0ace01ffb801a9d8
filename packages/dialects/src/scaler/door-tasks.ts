// The tasks of the door's clients, from when they are handed to the core until their outcome is known; and the graphs that
// some of them belong to.

import {
  type Answer,
  type Body,
  type Instant,
  type Outcome,
  Places,
  type RequestId,
  type TaskHead,
  type TaskId,
} from "@yardmaster/core";
import { bytesOf, ownBytes } from "../body.js";
import { arrayOfParts } from "../parts.js";
import { askedIn, isYardTask, madeObjectId, namedResult, ResultBody, taskIn } from "./bodies.js";
import type { ScalerDoorClient } from "./door-client.js";
import { plainResult } from "./frames.js";
import { planGraph } from "./graph-plan.js";
import { type GraphHost, type GraphNode, ScalerGraph } from "./graph-run.js";
import { hashOf, type IdSecret, IdTable } from "./id-table.js";
import type { ScalerHost } from "./line.js";
import { LiveTask, needsIn, needsOf } from "./live-task.js";
import type { StoredNode } from "./memos.js";
import type { GraphMessage, TaskMessage, TaskResult } from "./messages.js";
import type { ObjectExchange } from "./object-exchange.js";
import { lacksPlaces } from "./object-places.js";
import { keyOf } from "./objects.js";
import { type PackedFrames, PackedWriter } from "./packed-frames.js";
import type { ScalerObject } from "./scaler-object.js";
import { priorityOf } from "./structs.js";
import {
  isPlainTask,
  priorityIn,
  resultMessageBytesMax,
  TaskBody,
  taskBodyIn,
  taskBodyOf,
  writeResult,
} from "./task-body.js";

/** [scaler 4.5] Tasks of dead clients that are cancelled in one go: others have their turn in between. */
const cancelledAtOnce = 1_000;
/** An id that outlives its payload's bytes in memory has to let go of them, where they are many. */
const sharedBytesMax = 1024;
/** [scaler 6.7] Nodes of all graphs that have not ended. */
const graphNodesMax = 1_000_000;

export class ScalerTasks {
  readonly #host: ScalerHost;
  readonly #queue: string;
  readonly #exchange: ObjectExchange;
  readonly #secret: IdSecret;
  readonly #live = new IdTable<LiveTask>();
  readonly #graphs = new Map<string, ScalerGraph>();
  /** Tasks that are not accepted yet, and what is done when something else is answered. */
  readonly #requests = new Places<LiveTask | ((answer: Answer) => void)>();
  readonly #graphHost: GraphHost;
  readonly #toCancel: LiveTask[] = [];
  readonly #writer = new PackedWriter(resultMessageBytesMax);
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
      write: (memo, whenSafe) => {
        host.post({ ...memo, request: this.#requests.put(whenSafe) });
      },
      submit: (node, message) => this.#handOverMessage(this.#liveOf(node), message, taskBodyOf(message)),
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
    const known = this.#find(message.task);
    // [scaler 2.5] It is run once, and what became of it answers both.
    if (client.isRepeated(message.task, known)) return this.#host.fault("repeated_task", client.name);
    const reason =
      known === undefined ? this.#refuse(client, [message]) : "Another client has a task of this id.";
    if (reason !== undefined) return this.#fail(client, message.task, reason);
    if (lacksPlaces(this.#exchange, this.#host, client, message.task)) return;
    const body = taskBodyOf(message);
    const id =
      body.size <= sharedBytesMax ? body.bytes.subarray(body.taskAt, body.taskEnd) : ownBytes(message.task);
    const live = this.#enter(client, undefined, id);
    client.tasks.add(live);
    this.#handOverMessage(live, message, body);
  }

  /** The same for the usual case, a task as it came that nothing is to be said of; false where it is not that. */
  submitPacked(client: ScalerDoorClient, frames: PackedFrames): boolean {
    if (!isPlainTask(frames) || !frames.is(2, client.id)) return false;
    const { hasRefused, objects } = this.#exchange;
    if (hasRefused || client.mayRepeat() || !objects.hasRoomForPlaces) return false;
    const from = frames.starts[1] as number;
    const to = frames.ends[1] as number;
    const hash = hashOf(this.#secret, frames.bytes, from, to);
    if (this.#live.get(hash, frames.bytes, from, to) !== undefined) return false;
    const body = taskBodyIn(frames);
    if (body === undefined) return false;
    const live = new LiveTask(client, undefined, hash, body.bytes, body.taskAt, body.taskEnd);
    this.#live.add(live);
    client.tasks.add(live);
    this.#handOver(live, body, needsIn(objects, frames), priorityIn(frames));
    return true;
  }

  /** [scaler 6.1] The message is kept: its frames have to be in memory of their own. */
  submitGraph(client: ScalerDoorClient, message: GraphMessage): void {
    const key = keyOf(message.graph);
    const known = this.#graphs.get(key);
    if (client.isRepeated(message.graph, known)) return this.#host.fault("repeated_graph", client.name);
    const plan = planGraph(message);
    if (!plan.ok) return this.#fail(client, message.graph, plan.reason);
    const isTaken = known !== undefined || message.nodes.some(({ task }) => this.#find(task) !== undefined);
    const reason = isTaken
      ? "The graph, or a task of it, has the id of another."
      : this.#refuse(client, message.nodes);
    if (reason !== undefined) return this.#fail(client, message.graph, reason);
    if (lacksPlaces(this.#exchange, this.#host, client, message.graph)) return;
    if (this.#graphNodes + plan.nodes.size > graphNodesMax) {
      this.#host.fault("graph_limit", client.name);
      return client.tell(plainResult(message.graph, "W"));
    }
    this.#enterGraph(new ScalerGraph(message, plan, client, this.#graphHost)).start();
  }

  /** [scaler 2.2] False when the client has no such task. */
  cancel(client: ScalerDoorClient, task: Buffer): boolean {
    const live = this.#find(task);
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
    for (const live of client.tasks.takeAll()) this.#toCancel.push(live);
  }

  reply(request: RequestId, answer: Answer): void {
    const live = this.#requests.take(request);
    if (live === undefined) return;
    if (typeof live === "function") return live(answer);
    if (answer.type === "accepted") {
      live.task = answer.task;
      if (live.isCancelWanted) this.#cancel(live);
    } else if (answer.type === "refused") this.#refused(live, answer.code, answer.message);
  }

  /** An outcome. `client` is who it is for, where it is known. */
  tell(head: TaskHead, outcome: Outcome, clientOf: (source: Buffer) => ScalerDoorClient | undefined): void {
    const known = head.payload instanceof TaskBody ? head.payload.liveTo(this.#secret) : undefined;
    if (known !== undefined && this.#tellPacked(known, outcome, head.id)) return;
    const { task, source } = askedIn(head.envelope) ?? {};
    const live = task && this.#find(task);
    const client = live?.client ?? (source && clientOf(source));
    if (live !== undefined) this.#forget(live);
    if (client === undefined || task === undefined) {
      this.#host.post({ type: "outcome-undelivered", task: head.id, again: false });
      return;
    }
    const result = client.isDead ? plainResult(task, "C") : this.#resultFor(client, task, outcome);
    if (live?.node === undefined) client.tell(result, { task: head.id, saidOver: live?.saidOver ?? 0 });
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
    const live = this.#find(id);
    return live?.isRestored === true ? live.task : undefined;
  }

  /** Whether it has no outcome yet, as far as the door knows. */
  isOpen = (id: Buffer): boolean => this.#find(id) !== undefined;
  /** [scaler 8.2] A task that was accepted before we were started again. Its graph, if it has one, is there already. */
  restoreTask(head: TaskHead, clientOf: (source: Buffer) => ScalerDoorClient): void {
    const message = taskIn(head.payload);
    if (message === undefined) return;
    const known = this.#find(message.task);
    const live = known ?? this.#enter(clientOf(message.source), undefined, ownBytes(message.task));
    if (known?.node !== undefined) known.node.state = "submitted";
    live.task = head.id;
    live.isRestored = true;
    // Two of one id may not have been told: the one that was said again when the other had ended.
    const before = live.needs;
    live.needs = needsOf(this.#exchange.objects, message);
    for (const object of before) this.#exchange.objects.release(object);
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
    for (const node of graph.nodes.values()) this.#enter(graph.client, node, node.task);
    return graph;
  }

  /** `id` is in memory of its own. */
  #enter(client: ScalerDoorClient, node: GraphNode | undefined, id: Buffer): LiveTask {
    const live = new LiveTask(client, node, hashOf(this.#secret, id, 0, id.length), id, 0, id.length);
    this.#live.add(live);
    return live;
  }

  #find(id: Buffer): LiveTask | undefined {
    return this.#live.get(hashOf(this.#secret, id, 0, id.length), id, 0, id.length);
  }

  #liveOf(node: GraphNode): LiveTask {
    return this.#find(node.task) ?? this.#enter(node.graph.client, undefined, node.task);
  }

  #handOverMessage(live: LiveTask, message: TaskMessage, body: TaskBody): void {
    this.#handOver(live, body, needsOf(this.#exchange.objects, message), priorityOf(message.metadata));
  }

  #handOver(live: LiveTask, body: TaskBody, needs: readonly ScalerObject[], priority: number): void {
    live.needs = needs;
    live.body = body;
    body.link(live, this.#secret);
    this.#host.post({
      type: "task-submitted",
      request: this.#requests.put(live),
      submission: {
        queue: this.#queue,
        payload: body,
        // [scaler 2.4] The lower is the more urgent there, the higher here.
        priority: 0 - priority,
        replyTo: live.client.replyTo,
        envelope: body.envelope,
      },
    });
  }

  /** Why these tasks of one client cannot be taken. */
  #refuse(client: ScalerDoorClient, messages: readonly TaskMessage[]): string | undefined {
    for (const message of messages) {
      if (!message.source.equals(client.id)) {
        this.#host.fault("wrong_source", client.name);
        return "A task's source is the client that submits it.";
      }
      if (isYardTask(message.task)) return "Ids that begin with yardtask are the dispatcher's own.";
      for (const id of [message.function, ...message.arguments.map(({ id }) => id)]) {
        const why = this.#exchange.whyRefused(id);
        if (why !== undefined) return `Object ${id.toString("hex")} ${why}`;
      }
    }
    return undefined;
  }

  #refused(live: LiveTask, code: string, message: string): void {
    // [scaler 2.6] No room, or none now.
    if (code === "queue_full" || code === "not_ready") this.#end(live, plainResult(live.id, "W"));
    else this.#end(live, this.#failure(live.client, live.id, message));
  }

  #cancel(live: LiveTask): void {
    live.isCancelWanted = true;
    if (live.task === undefined) return;
    const request = this.#requests.put((answer: Answer) => {
      if (answer.type === "refused" && answer.code === "not_found") this.#vanished(live);
    });
    this.#host.post({ type: "cancel-asked", request, task: live.task, by: `client ${live.client.name}` });
  }

  /** It ended in an earlier life, and the time to tell of it was over before we could. */
  #vanished(live: LiveTask): void {
    if (this.#find(live.id) === live) this.#end(live, plainResult(live.id, "C"));
  }

  #end(live: LiveTask, result: TaskResult): void {
    this.#forget(live);
    if (live.node === undefined) live.client.tell(result);
    else live.node.graph.nodeEnded(live.node, result, undefined);
  }

  #forget(live: LiveTask): void {
    this.#live.delete(live);
    live.client.tasks.delete(live);
    live.body?.link(undefined, this.#secret);
    for (const object of live.needs) this.#exchange.objects.release(object);
    live.needs = [];
  }

  #forgetNode(node: GraphNode): void {
    this.#graphNodes -= 1;
    const live = this.#find(node.task);
    if (live?.node === node) this.#forget(live);
    if (node.graph.isOver) this.#graphs.delete(keyOf(node.graph.id));
  }

  /** The usual outcome, for a client that can be told at once; false where it is not that. */
  #tellPacked(live: LiveTask, { state, result }: Outcome, task: TaskId): boolean {
    const { client, node, body } = live;
    if (state !== "done" || !(result instanceof ResultBody) || node !== undefined || body === undefined)
      return false;
    if (live.saidOver !== client.connection) return false;
    const writer = this.#writer;
    writeResult(writer, body, result);
    if (!client.tellPacked(writer.bytes, writer.length, { task, body, result })) return false;
    this.#forget(live);
    return true;
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
