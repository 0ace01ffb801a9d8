// A running graph. A node becomes a task when everything it waits for is done. Targets are reported
// as they end, and the graph itself when all nodes have ended. A failed node also fails every node
// that waits for it.

import type { TaskId, YardEvent } from "@yardmaster/core";
import type { ScalerDoorClient } from "./door-client.js";
import { none } from "./frames.js";
import type { GraphPlan, PlannedNode } from "./graph-plan.js";
import { graphDropped, graphWritten, nodeDropped, nodeWritten } from "./memos.js";
import type { GraphMessage, TaskMessage, TaskResult, TaskStatus } from "./messages.js";
import type { ScalerObjects } from "./objects.js";
import type { ScalerObject } from "./scaler-object.js";

export type MemoWritten = Extract<YardEvent, { type: "memo-written" }>;

export interface GraphHost {
  readonly objects: ScalerObjects;
  post(event: YardEvent): void;
  /** Commits a memo together with everything posted in the same turn, then calls `whenSafe`. */
  write(memo: MemoWritten, whenSafe: () => void): void;
  /** Submits the node to the core. The host calls `nodeEnded` when it has ended. */
  submit(node: GraphNode, message: TaskMessage): void;
  cancel(node: GraphNode): void;
  /** Removes the node's task from the door's tables. */
  forget(node: GraphNode): void;
  /** Creates an error object with this text for the client and returns its id. */
  makeError(client: ScalerDoorClient, task: Buffer, text: string): Buffer;
}

export class GraphNode {
  readonly graph: ScalerGraph;
  readonly plan: PlannedNode;
  state: "waiting" | "submitted" | "ended" = "waiting";
  /** How it ended. Everything but success and cancellation is a failure. */
  status: "S" | "F" | "C" | undefined = undefined;
  error: Buffer | undefined = undefined;
  waitsFor: number;
  /** Number of unfinished nodes that take its result. */
  takers: number;
  /** [scaler 6.5] Objects that the node needs, held from the moment the graph is accepted. */
  needs: readonly ScalerObject[] = [];
  /** The node's result, while other nodes still have to take it. */
  result: ScalerObject | undefined = undefined;
  resultId: Buffer | undefined = undefined;

  constructor(graph: ScalerGraph, plan: PlannedNode) {
    this.graph = graph;
    this.plan = plan;
    this.waitsFor = plan.takesFrom.length;
    this.takers = plan.givesTo.length;
  }

  get task(): Buffer {
    return this.plan.message.task;
  }
}

export class ScalerGraph {
  readonly id: Buffer;
  readonly client: ScalerDoorClient;
  saidOver: number;
  readonly nodes = new Map<string, GraphNode>();
  readonly #message: GraphMessage;
  readonly #host: GraphHost;
  #unended: number;

  constructor(
    message: GraphMessage,
    plan: Extract<GraphPlan, { ok: true }>,
    client: ScalerDoorClient,
    host: GraphHost,
  ) {
    this.id = message.graph;
    this.#message = message;
    this.client = client;
    this.saidOver = client.connection;
    this.#host = host;
    for (const [key, planned] of plan.nodes) this.nodes.set(key, new GraphNode(this, planned));
    this.#unended = this.nodes.size;
    for (const node of this.nodes.values()) node.needs = this.#needsOf(node);
  }

  get isOver(): boolean {
    return this.#unended === 0;
  }

  start(): void {
    this.#host.post(graphWritten(this.#message));
    this.goOn();
  }

  /** Submits every node that is ready. Ends the graph if no node is left. */
  goOn(): void {
    for (const node of this.nodes.values()) this.#submitIfReady(node);
    if (this.#unended === 0) this.#finish(now);
  }

  /** Restores a node that ended before the restart. Restore everything before calling `goOn`. */
  restoreEnded(node: GraphNode, result: TaskResult): void {
    if (node.state !== "ended") this.#end(node, result);
  }

  /**
   * Records a node's outcome. `task` is set if the outcome is the core's: it is then committed, and
   * the core must hear when it was delivered. Outcomes decided here are delivered once the memo is
   * committed.
   */
  nodeEnded(node: GraphNode, result: TaskResult, task: TaskId | undefined): void {
    if (node.state === "ended") return;
    const tellings: (() => void)[] = [];
    const later: TellWhen = (tell) => tellings.push(tell);
    this.#host.write(nodeWritten(this.id, result), () => {
      for (const tell of tellings) tell();
    });
    this.#end(node, result);
    if (!node.plan.isTarget) {
      if (task !== undefined) this.#host.post({ type: "outcomes-told", tasks: [task] });
    } else if (task !== undefined) this.client.tell(result, { task });
    else later(() => this.client.tell(result));
    this.#afterwards(node, result, later);
    for (const taker of node.plan.givesTo) this.#submitIfReady(this.#nodeOf(taker));
    if (this.#unended === 0) this.#finish(later);
  }

  /**
   * [scaler 6.4] Nodes that have not begun end at once. The others end when their worker answers or
   * the attempt is revoked.
   */
  cancel(): void {
    for (const node of [...this.nodes.values()]) {
      if (node.state === "submitted") this.#host.cancel(node);
      else if (node.state === "waiting") this.cancelWaiting(node);
    }
  }

  cancelWaiting(node: GraphNode): void {
    this.nodeEnded(node, { ...ended(node.task, "C"), metadata: none }, undefined);
  }

  #nodeOf(plan: PlannedNode): GraphNode {
    return this.nodes.get(plan.key) as GraphNode;
  }

  #needsOf({ plan }: GraphNode): ScalerObject[] {
    const needs = [this.#host.objects.need(plan.message.function)];
    for (const { kind, id } of plan.message.arguments) {
      if (kind === "R") needs.push(this.#host.objects.need(id));
    }
    return needs;
  }

  #submitIfReady(node: GraphNode): void {
    if (node.state !== "waiting" || node.waitsFor > 0) return;
    node.state = "submitted";
    this.#host.submit(node, this.#resolved(node));
  }

  /** [scaler 6.3] The node's message, with results in place of the tasks that produced them. */
  #resolved({ plan: { message } }: GraphNode): TaskMessage {
    const resolved = message.arguments.map(({ kind, id }) => {
      if (kind === "R") return { kind, id };
      const giver = this.nodes.get(id.toString("latin1"));
      return { kind: "R" as const, id: giver?.resultId ?? id };
    });
    const { type, task, source, metadata, function: called } = message;
    return { type, task, source, metadata, function: called, arguments: resolved };
  }

  /** Counts the node as ended and releases what was held for it. */
  #end(node: GraphNode, result: TaskResult): void {
    node.state = "ended";
    this.#unended -= 1;
    this.#host.forget(node);
    for (const object of node.needs) this.#host.objects.release(object);
    node.needs = [];
    node.status = result.status === "S" || result.status === "C" ? result.status : "F";
    node.error = node.status === "F" ? result.results[0] : undefined;
    if (result.status === "S") {
      node.resultId = result.results[0];
      if (node.takers > 0 && node.resultId !== undefined)
        node.result = this.#host.objects.need(node.resultId);
      for (const taker of node.plan.givesTo) this.#nodeOf(taker).waitsFor -= 1;
    }
    for (const giver of node.plan.takesFrom) this.#untake(this.#nodeOf(giver));
    if (node.takers === 0) this.#dropIntermediate(node);
  }

  #untake(giver: GraphNode): void {
    giver.takers -= 1;
    if (giver.takers > 0) return;
    if (giver.result !== undefined) this.#host.objects.release(giver.result);
    giver.result = undefined;
    this.#dropIntermediate(giver);
  }

  /** [scaler 6.6] No other node needs this result, and the client never learns of it. */
  #dropIntermediate({ plan, resultId }: GraphNode): void {
    if (!plan.isTarget && resultId !== undefined) this.#host.objects.disown(this.client.key, resultId);
  }

  /**
   * [scaler 6.4] Nodes that wait for a node without a result will not run, and neither will nodes
   * that wait for those.
   */
  #afterwards(node: GraphNode, { status, results }: TaskResult, later: TellWhen): void {
    if (status === "S" || node.plan.givesTo.length === 0) return;
    const isCancelled = status === "C";
    const error = isCancelled ? undefined : (results[0] ?? this.#errorOf(node, status));
    node.error ??= error;
    const given = error === undefined ? [] : [error];
    const left = node.plan.givesTo.map((taker) => this.#nodeOf(taker));
    for (let taker = left.pop(); taker !== undefined; taker = left.pop()) {
      if (taker.state !== "waiting") continue;
      const result: TaskResult = { ...ended(taker.task, isCancelled ? "C" : "F"), results: given };
      this.#host.post(nodeWritten(this.id, result));
      this.#end(taker, result);
      if (taker.plan.isTarget) later(() => this.client.tell(result));
      for (const next of taker.plan.givesTo) left.push(this.#nodeOf(next));
    }
  }

  #errorOf(node: GraphNode, status: TaskStatus): Buffer {
    const text = `Task ${node.task.toString("hex")} of the graph ended with status ${status}.`;
    return this.#host.makeError(this.client, node.task, text);
  }

  /**
   * [scaler 6.3] The graph's own answer comes last. The graph is kept until that answer is sent.
   */
  #finish(telling: TellWhen): void {
    if (!this.client.graphs.delete(this)) return;
    const status = this.#status();
    const results = status === "F" ? [this.#error()] : [];
    const forget = () => {
      this.#host.post(graphDropped(this.id));
      for (const node of this.nodes.values()) this.#host.post(nodeDropped(this.id, node.task));
    };
    const result: TaskResult = { ...ended(this.id, status), results };
    telling(() => this.client.tell(result, { saidOver: this.saidOver, whenTold: forget }));
  }

  /**
   * The outcomes of the nodes alone decide it, in whatever order they ended: after a restart only
   * they are known, and a graph that was answered before must get the same answer again.
   */
  #status(): "S" | "F" | "C" {
    const statuses = new Set([...this.nodes.values()].map(({ status }) => status));
    return statuses.has("C") ? "C" : statuses.has("F") ? "F" : "S";
  }

  /** The error of the first failed node that has one, in the graph's order. */
  #error(): Buffer {
    for (const { error } of this.nodes.values()) if (error !== undefined) return error;
    return this.#host.makeError(this.client, this.id, "A task of the graph failed.");
  }
}

/** Decides when an outcome is delivered: at once, or after the commit. */
type TellWhen = (tell: () => void) => void;

const now: TellWhen = (tell) => tell();

function ended(task: Buffer, status: TaskStatus): TaskResult {
  return { type: "task-result", task, status, metadata: none, results: [] };
}
