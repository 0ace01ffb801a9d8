// A graph that runs: its nodes become tasks when all they wait for is done, its targets are told as they end, and the graph
// itself when all have ended. What failed takes with it whatever waits for it.

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
  /** Writes a memo down; what is posted in the same turn is safe with it, and then this is done. */
  write(memo: MemoWritten, whenSafe: () => void): void;
  /** Has the core run it; `nodeEnded` when it has ended. */
  submit(node: GraphNode, message: TaskMessage): void;
  cancel(node: GraphNode): void;
  /** The node's task is not to be known any more. */
  forget(node: GraphNode): void;
  /** An error for the client to find, with this text. */
  makeError(client: ScalerDoorClient, task: Buffer, text: string): Buffer;
}

export class GraphNode {
  readonly graph: ScalerGraph;
  readonly plan: PlannedNode;
  state: "waiting" | "submitted" | "ended" = "waiting";
  waitsFor: number;
  /** Nodes that take its result and have not ended. */
  takers: number;
  /** [scaler 6.5] What it needs itself, from when the graph was accepted. */
  needs: readonly ScalerObject[] = [];
  /** Its result, while it is still to be taken. */
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
  /** What became of it so far: the first failure, or a cancellation, decides. */
  #status: "S" | "F" | "C" = "S";
  #error: Buffer | undefined;

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

  /** Submits what can run and does not; ends if nothing is left. */
  goOn(): void {
    for (const node of this.nodes.values()) this.#submitIfReady(node);
    if (this.#unended === 0) this.#finish(now);
  }

  /** A node had ended before we were started again. Everything is to be restored before `goOn`. */
  restoreEnded(node: GraphNode, result: TaskResult): void {
    if (node.state !== "ended") this.#end(node, result);
  }

  /**
   * A node has its outcome; `task` where that is the core's, which is committed, and is to hear that it was told. What is
   * decided here is told when it is safe.
   */
  nodeEnded(node: GraphNode, result: TaskResult, task: TaskId | undefined): void {
    if (node.state === "ended") return;
    const tellings: (() => void)[] = [];
    const later: Telling = (tell) => tellings.push(tell);
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

  /** [scaler 6.4] What has not begun ends at once; what has, when its worker says so or it is taken from it. */
  cancel(): void {
    if (this.#status === "S") this.#status = "C";
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

  /** [scaler 6.3] With the results in place of the tasks that left them. */
  #resolved({ plan: { message } }: GraphNode): TaskMessage {
    const resolved = message.arguments.map(({ kind, id }) => {
      if (kind === "R") return { kind, id };
      const giver = this.nodes.get(id.toString("latin1"));
      return { kind: "R" as const, id: giver?.resultId ?? id };
    });
    return { ...message, arguments: resolved };
  }

  /** Takes it into account, and lets go of what was kept for it. */
  #end(node: GraphNode, result: TaskResult): void {
    node.state = "ended";
    this.#unended -= 1;
    this.#host.forget(node);
    for (const object of node.needs) this.#host.objects.release(object);
    node.needs = [];
    if (result.status === "S") {
      node.resultId = result.results[0];
      if (node.takers > 0 && node.resultId !== undefined)
        node.result = this.#host.objects.need(node.resultId);
      for (const taker of node.plan.givesTo) this.#nodeOf(taker).waitsFor -= 1;
    } else if (this.#status === "S") {
      this.#status = result.status === "C" ? "C" : "F";
      this.#error = result.results[0];
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

  /** [scaler 6.6] Nobody needs it any more, and the client never hears of it. */
  #dropIntermediate({ plan, resultId }: GraphNode): void {
    if (!plan.isTarget && resultId !== undefined) this.#host.objects.disown(this.client.key, resultId);
  }

  /** [scaler 6.4] What waits for a node that left no result will not run, and neither will what waits for that. */
  #afterwards(node: GraphNode, { status, results }: TaskResult, later: Telling): void {
    if (status === "S" || node.plan.givesTo.length === 0) return;
    const isCancelled = status === "C";
    const error = isCancelled ? undefined : (results[0] ?? this.#errorOf(node, status));
    if (this.#status === "F") this.#error ??= error;
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

  /** [scaler 6.3] Its own answer comes last. Until it is sent the graph is not forgotten. */
  #finish(telling: Telling): void {
    if (!this.client.graphs.delete(this)) return;
    const error = this.#error ?? (this.#status === "F" ? this.#errorOfGraph() : undefined);
    const results = this.#status === "F" && error !== undefined ? [error] : [];
    const forget = () => {
      this.#host.post(graphDropped(this.id));
      for (const node of this.nodes.values()) this.#host.post(nodeDropped(this.id, node.task));
    };
    const result: TaskResult = { ...ended(this.id, this.#status), results };
    telling(() => this.client.tell(result, { saidOver: this.saidOver, whenTold: forget }));
  }

  #errorOfGraph(): Buffer {
    return this.#host.makeError(this.client, this.id, "A task of the graph failed.");
  }
}

/** When something is told. */
type Telling = (tell: () => void) => void;

const now: Telling = (tell) => tell();

function ended(task: Buffer, status: TaskStatus): TaskResult {
  return { type: "task-result", task, status, metadata: none, results: [] };
}
