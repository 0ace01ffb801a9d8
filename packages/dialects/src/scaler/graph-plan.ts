// A graph before it runs: which node waits for which, and whether it can run at all.

import type { GraphMessage, TaskMessage } from "./messages.js";
import { keyOf } from "./objects.js";

export interface PlannedNode {
  readonly key: string;
  readonly message: TaskMessage;
  readonly isTarget: boolean;
  /** Nodes whose results it takes, and nodes that take its result; each listed once. */
  readonly takesFrom: readonly PlannedNode[];
  readonly givesTo: readonly PlannedNode[];
}

export type GraphPlan =
  | { readonly ok: true; readonly nodes: ReadonlyMap<string, PlannedNode> }
  /** The reason, in words for the client. */
  | { readonly ok: false; readonly reason: string };

interface Draft extends PlannedNode {
  readonly takesFrom: Draft[];
  readonly givesTo: Draft[];
}

/**
 * [scaler 6.2] Plans the nodes in the order of the message. A graph that could never finish is
 * refused as a whole.
 */
export function planGraph(message: GraphMessage): GraphPlan {
  const targets = new Set(message.targets.map(keyOf));
  const nodes = new Map<string, Draft>();
  for (const node of message.nodes) {
    const key = keyOf(node.task);
    if (nodes.has(key)) return refused(`has task ${shown(node.task)} twice`);
    nodes.set(key, { key, message: node, isTarget: targets.has(key), takesFrom: [], givesTo: [] });
  }
  for (const target of message.targets) {
    if (!nodes.has(keyOf(target))) return refused(`has a target ${shown(target)} that is none of its tasks`);
  }
  for (const node of nodes.values()) {
    for (const [key, id] of takenBy(node.message)) {
      const giver = nodes.get(key);
      if (giver === undefined)
        return refused(`has a task that waits for ${shown(id)}, which is none of its tasks`);
      node.takesFrom.push(giver);
      giver.givesTo.push(node);
    }
  }
  return hasCycle(nodes) ? refused("has tasks that wait for each other in a circle") : { ok: true, nodes };
}

function refused(what: string): GraphPlan {
  return { ok: false, reason: `The graph ${what}; none of it was run.` };
}

function takenBy(message: TaskMessage): Map<string, Buffer> {
  const taken = new Map<string, Buffer>();
  for (const { kind, id } of message.arguments) if (kind === "T") taken.set(keyOf(id), id);
  return taken;
}

/**
 * Removes nodes that wait for nothing until none is left to remove. Any remaining node is part of a
 * cycle, or waits for one.
 */
function hasCycle(nodes: ReadonlyMap<string, Draft>): boolean {
  const waits = new Map<Draft, number>();
  const free: Draft[] = [];
  for (const node of nodes.values()) {
    waits.set(node, node.takesFrom.length);
    if (node.takesFrom.length === 0) free.push(node);
  }
  let count = 0;
  for (let node = free.pop(); node !== undefined; node = free.pop()) {
    count += 1;
    for (const taker of node.givesTo) {
      const left = (waits.get(taker) ?? 0) - 1;
      waits.set(taker, left);
      if (left === 0) free.push(taker);
    }
  }
  return count < nodes.size;
}

function shown(id: Buffer): string {
  return id.toString("hex");
}
