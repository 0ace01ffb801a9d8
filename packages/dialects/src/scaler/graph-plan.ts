// A graph before it runs: who waits for whom, and whether it can run at all.

import type { GraphMessage, TaskMessage } from "./messages.js";
import { keyOf } from "./objects.js";

export interface PlannedNode {
  readonly key: string;
  readonly message: TaskMessage;
  readonly isTarget: boolean;
  /** Whose results it takes, and who takes its; each once. */
  readonly takesFrom: readonly PlannedNode[];
  readonly givesTo: readonly PlannedNode[];
}

export type GraphPlan =
  | { readonly ok: true; readonly nodes: ReadonlyMap<string, PlannedNode> }
  /** Why not, in words for whoever sent it. */
  | { readonly ok: false; readonly reason: string };

interface Draft extends PlannedNode {
  readonly takesFrom: Draft[];
  readonly givesTo: Draft[];
}

/** [scaler 6.2] In the order of the message. A graph that could never end is refused whole. */
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

/** Takes away what waits for nothing, again and again: what is left waits for itself. */
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
