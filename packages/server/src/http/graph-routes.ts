// Submits a graph of tasks: it is read as a whole, and accepted or refused as a whole.

import type { GraphItem, PastOutcome, TaskId } from "@yardmaster/core";
import type * as z from "zod";
import { withPastOutcomes } from "../door-kit/past-outcomes.js";
import { batchItemsMax, bytesOf, readItem } from "./batch.js";
import { graphItemSchema } from "./body-schemas.js";
import { chargeMoreTasks, type HttpContext, refuseNewTasks } from "./context.js";
import type { Reply } from "./exchange.js";
import { ItemSplitter } from "./item-splitter.js";
import { operation } from "./operation.js";
import { graphItem } from "./parameters.js";
import { Problem } from "./problems.js";
import { queueFault } from "./route-rights.js";
import { graphAnswerSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";
import { submissionOf } from "./submission.js";
import { refuseHidden } from "./submit-routes.js";

/** A graph is held in memory completely, in addition to the tasks made from it. */
export const graphBytesMax = 64 * 1024 * 1024;
/** Maximum number of dependencies of all items together. Each costs as much as a small task. */
const edgesMax = 1_000_000;
/** Items read between two turns of the event loop. */
const itemsPerTurn = 500;

export function addGraphRoutes(app: HttpServer, context: HttpContext): void {
  const bodyLimit = Math.min(graphBytesMax, context.payloadBytesMax);
  const onRequest = refuseNewTasks(context);
  app.post(
    "/v1/tasks::graph",
    { bodyLimit, onRequest, ...graphOperation },
    async ({ body, headers, ip, login }, reply) => {
      const graph = new Graph(await readItems(body));
      for (const { queue } of graph.items) {
        const fault = queueFault(login.principal, "submit", queue);
        if (fault !== undefined) throw fault;
      }
      chargeMoreTasks(login, graph.items.length - 1);
      for (const index of graph.items.keys())
        await refuseHidden(context, login.principal, graph.dependenciesOf(index).ids).catch((fault) =>
          graph.explain(fault, index),
        );
      const items = graph.items.map(
        ({ name, queue, after: _, payload, payloadBase64, contentType, ...options }, index): GraphItem => {
          const bytes = bytesOf(payload, payloadBase64, contentType);
          const submission = submissionOf(context, { queue, payload: bytes, options, headers, ip, login });
          const { ids, indexes } = graph.dependenciesOf(index);
          return {
            submission: ids.length === 0 ? submission : { ...submission, after: ids },
            afterItems: indexes,
          };
        },
      );
      const accepted = await submitGraph(context, items).catch((fault) => graph.explain(fault));
      const answer = accepted.map(({ task, existing }, index) => ({
        name: graph.items[index]?.name,
        id: String(task),
        existing,
      }));
      return reply.code(201).send({ items: answer });
    },
  );
}

type ItemInput = z.output<typeof graphItem> & { readonly line: number };

type GraphTasks = Extract<Reply, { type: "graph-accepted" }>["tasks"];

/** A refusal by the core, with the item it is about. */
class ItemRefused extends Error {
  readonly refusal: Extract<Reply, { type: "refused" }>;

  constructor(refusal: Extract<Reply, { type: "refused" }>) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** Maximum number of items that stand for ended tasks and have dependents. */
const lookUpsMax = 100;

/** Submits all items at once. Rejects with `ItemRefused` or a problem. */
export async function submitGraph(context: HttpContext, items: readonly GraphItem[]): Promise<GraphTasks> {
  const found: PastOutcome[] = [];
  for (;;) {
    try {
      return await postGraph(context, items, found);
    } catch (fault) {
      const { code, task } = fault instanceof ItemRefused ? fault.refusal : {};
      if (code !== "unknown_dependency" || task === undefined || found.length === lookUpsMax) throw fault;
      // An item may stand for this task through its key, which only the core knows.
      const [outcome] = await context.port.reads.pastOutcomes([task]);
      if (outcome === undefined || found.some((known) => known.task === task)) throw fault;
      found.push(outcome);
    }
  }
}

function postGraph(
  { port, exchange }: HttpContext,
  items: readonly GraphItem[],
  found: readonly PastOutcome[],
): Promise<GraphTasks> {
  return new Promise((resolve, reject) => {
    const after = new Set<TaskId>();
    for (const { submission } of items) for (const id of submission.after ?? []) after.add(id);
    withPastOutcomes(port.reads, after, (outcomes) => {
      const pastOutcomes = [...outcomes, ...found];
      exchange.askFor(
        (request) => ({ type: "graph-submitted", request, items, pastOutcomes }),
        (reply) => {
          if (reply.type === "graph-accepted") resolve(reply.tasks);
          else if (reply.type === "refused") reject(new ItemRefused(reply));
          else reject(new Error(`a graph was answered with ${reply.type}`));
        },
      );
    }).catch(reject);
  });
}

/** The problem of a refused graph that was made by a retry. */
export function asProblem(fault: unknown): Problem {
  if (fault instanceof ItemRefused) return new Problem(fault.refusal.code, fault.message);
  throw fault;
}

class Graph {
  readonly items: readonly ItemInput[];
  readonly #indexes = new Map<string, number>();

  constructor(items: readonly ItemInput[]) {
    this.items = items;
    let edges = 0;
    for (const [index, { name, after = [] }] of items.entries()) {
      if (this.#indexes.has(name))
        throw this.#problem(index, "bad_request", "another item has the same name");
      this.#indexes.set(name, index);
      edges += after.length;
    }
    if (edges > edgesMax)
      throw new Problem(
        "payload_too_large",
        `a graph has at most ${edgesMax} dependencies; this has ${edges}`,
      );
  }

  /** A name of the graph wins over an id. */
  dependenciesOf(index: number): { readonly ids: readonly TaskId[]; readonly indexes: readonly number[] } {
    const ids = new Set<TaskId>();
    const indexes = new Set<number>();
    for (const word of this.items[index]?.after ?? []) {
      const named = this.#indexes.get(word);
      if (named !== undefined) indexes.add(named);
      else if (/^[1-9]\d{0,14}$/.test(word)) ids.add(Number(word) as TaskId);
      else
        throw this.#problem(
          index,
          "unknown_dependency",
          `no item is named ${JSON.stringify(word.slice(0, 80))}`,
        );
    }
    return { ids: [...ids], indexes: [...indexes] };
  }

  /** `index`: the item that was checked when the fault was found. */
  explain(fault: unknown, index?: number): never {
    if (fault instanceof Problem && index !== undefined)
      throw this.#problem(index, fault.code, fault.message);
    if (!(fault instanceof ItemRefused)) throw fault;
    const { code, message, item } = fault.refusal;
    throw item === undefined ? new Problem(code, message) : this.#problem(item, code, message);
  }

  #problem(index: number, code: Problem["code"], detail: string): Problem {
    const { line, name } = this.items[index] as ItemInput;
    const what = detail.replace(/\.$/, "");
    return new Problem(code, `line ${line}, item ${JSON.stringify(name)}: ${what}; nothing was accepted`);
  }
}

/**
 * Reads all items, with a turn of the event loop between portions, so that no other request is
 * delayed.
 */
async function readItems(body: unknown): Promise<readonly ItemInput[]> {
  const splitter = new ItemSplitter();
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  const items: ItemInput[] = [];
  for (const cut of [...splitter.push(bytes), ...splitter.end()]) {
    if ("fault" in cut) throw new Problem("bad_request", `line ${cut.line}: ${cut.fault}`);
    const { line } = cut;
    if (items.length === batchItemsMax)
      throw new Problem("payload_too_large", `line ${line}: a graph has at most ${batchItemsMax} items`);
    const text = cut.bytes === undefined ? cut.text : cut.bytes.toString("utf8");
    const item = readItem({ line, text }, graphItem);
    if (item.payload !== undefined && item.payloadBase64 !== undefined)
      throw new Problem("bad_request", `line ${line}: payload or payloadBase64, not both`);
    items.push({ ...item, line });
    if (items.length % itemsPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return items;
}

const graphOperation = operation({
  id: "submitGraph",
  tag: "tasks",
  summary: "Submit tasks that depend on each other",
  description:
    "One JSON object per line (NDJSON), or a JSON array of them. Each has a `name` and a `queue`. `after` lists names " +
    "within the graph, or ids of earlier tasks. All are accepted and committed together, or none; then the problem " +
    "names the item.",
  body: {
    is: "At most 10,000 items and 64 MiB",
    content: {
      "application/x-ndjson": graphItemSchema,
      "application/json": { type: "array", items: graphItemSchema },
    },
  },
  answers: { 201: { is: "All are accepted and committed", json: graphAnswerSchema } },
  problems: [
    "dependency_cycle",
    "unknown_dependency",
    "key_conflict",
    "payload_too_large",
    "queue_full",
    "not_ready",
  ],
});
