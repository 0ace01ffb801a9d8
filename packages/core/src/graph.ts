// A graph of tasks that depend on each other, accepted as a whole or refused with the item that is
// the reason. Tasks get their ids in an order in which each comes after those it depends on, and in
// the order of the items where that is possible.

import { accept } from "./accepting.js";
import {
  type QueueNeed,
  type Refusal,
  refuseKey,
  refuseQueue,
  refuseSubmission,
  unknownDependency,
} from "./admission.js";
import type { DoorState } from "./door-state.js";
import type { YardEvent } from "./events.js";
import type { TaskId } from "./names.js";
import type { Queue } from "./queue.js";
import type { GraphItem, PastOutcome } from "./submission.js";
import type { Yard } from "./yard.js";

type GraphSubmitted = Extract<YardEvent, { type: "graph-submitted" }>;

/** A refusal, and the item that it is about. */
interface ItemRefusal extends Refusal {
  readonly item: number;
}

/** Where an item goes: its queue, and the task that already has its key. */
interface Target {
  readonly queue: Queue;
  readonly existing: TaskId | undefined;
}

export function handleGraph(yard: Yard, door: DoorState, event: GraphSubmitted): void {
  const { request, items, pastOutcomes } = event;
  const accepted = acceptGraph(yard, door, items, pastOutcomes);
  if ("code" in accepted) yard.reply(door, request, { type: "refused", ...accepted });
  else yard.reply(door, request, { type: "graph-accepted", tasks: accepted.tasks });
}

interface AcceptedGraph {
  readonly tasks: readonly { readonly task: TaskId; readonly existing: boolean }[];
}

/** Accepts all items, or refuses the graph with the item that is the reason. */
export function acceptGraph(
  yard: Yard,
  door: DoorState,
  given: readonly GraphItem[],
  pastOutcomes: readonly PastOutcome[] = [],
): AcceptedGraph | ItemRefusal {
  const past = new Map(pastOutcomes.map((outcome) => [outcome.task, outcome]));
  const items = given.map((item) => withOutcomes(item, past));
  const order = orderOf(items);
  const targets: Target[] = [];
  const refusal = Array.isArray(order)
    ? (aimAll(yard, door, items, targets) ?? refuseEnded(yard, items, targets, past))
    : order;
  if (refusal !== undefined) {
    for (const { queue } of targets) yard.dropIfEmpty(queue);
    return refusal;
  }
  const ids: TaskId[] = new Array(items.length);
  for (const index of order as number[]) {
    const { queue, existing } = targets[index] as Target;
    ids[index] = existing ?? acceptItem(yard, door, queue, items[index] as GraphItem, { ids, past });
  }
  const tasks = targets.map(({ existing }, index) => ({
    task: ids[index] as TaskId,
    existing: existing !== undefined,
  }));
  return { tasks };
}

function acceptItem(
  yard: Yard,
  door: DoorState,
  queue: Queue,
  { submission, afterItems }: GraphItem,
  { ids, past }: { readonly ids: readonly TaskId[]; readonly past: PastOutcomes },
): TaskId {
  const after = new Set(submission.after);
  for (const index of afterItems) after.add(ids[index] as TaskId);
  const { submission: whole } = withOutcomes(
    { submission: { ...submission, after: [...after] }, afterItems },
    past,
  );
  return accept(yard, door, queue, whole).head.id;
}

type PastOutcomes = ReadonlyMap<TaskId, PastOutcome>;

/** The item with the outcomes of those that it depends on by id. */
function withOutcomes({ submission, afterItems }: GraphItem, past: PastOutcomes): GraphItem {
  if (submission.after === undefined || past.size === 0) return { submission, afterItems };
  const pastOutcomes = submission.after.flatMap((id) => past.get(id) ?? []);
  return { submission: { ...submission, pastOutcomes }, afterItems };
}

/**
 * An item that stands for an earlier task, by its key, may have ended and left the core. How it
 * ended must be known to those that depend on it.
 */
function refuseEnded(
  yard: Yard,
  items: readonly GraphItem[],
  targets: readonly Target[],
  past: PastOutcomes,
): ItemRefusal | undefined {
  for (const [item, { afterItems }] of items.entries()) {
    if (targets[item]?.existing !== undefined) continue;
    for (const index of afterItems) {
      const id = targets[index]?.existing;
      if (id === undefined || yard.tasks.get(id) !== undefined || past.has(id)) continue;
      return { ...unknownDependency(id), item };
    }
  }
  return undefined;
}

/** Finds every item's queue and checks all limits as if all were accepted. */
function aimAll(
  yard: Yard,
  door: DoorState,
  items: readonly GraphItem[],
  targets: Target[],
): ItemRefusal | undefined {
  const needs = new Map<Queue, QueueNeed>();
  const keys = new Map<Queue, Set<string>>();
  for (const [item, graphItem] of items.entries()) {
    const queue = yard.queue(graphItem.submission.queue, door, graphItem.submission.host);
    if (queue === undefined) return { ...refuseQueue(graphItem.submission.queue), item };
    const target: { queue: Queue; existing: TaskId | undefined } = { queue, existing: undefined };
    targets.push(target);
    const known = existingTask(queue, graphItem, keys);
    if (typeof known === "object") return { ...known, item };
    target.existing = known;
    if (known !== undefined) continue;
    const refusal = refuseItem(yard, queue, graphItem, needs);
    if (refusal !== undefined) return { ...refusal, item };
  }
  return undefined;
}

function refuseItem(
  yard: Yard,
  queue: Queue,
  { submission, afterItems }: GraphItem,
  needs: Map<Queue, QueueNeed>,
): Refusal | undefined {
  const { dependencies } = yard.options.limits;
  if ((submission.after?.length ?? 0) + afterItems.length > dependencies)
    return { code: "bad_request", message: `A task depends on at most ${dependencies} tasks.` };
  const need = needs.get(queue) ?? { tasks: 0, bytes: 0 };
  const refusal = refuseSubmission(yard, queue, submission, need);
  needs.set(queue, { tasks: need.tasks + 1, bytes: need.bytes + submission.payload.size });
  return refusal;
}

/** The task that was accepted under this key before, or why the key cannot be used. */
function existingTask(
  queue: Queue,
  { submission: { key, fingerprint } }: GraphItem,
  keys: Map<Queue, Set<string>>,
): TaskId | Refusal | undefined {
  if (key === undefined) return undefined;
  const used = keys.get(queue) ?? new Set<string>();
  if (used.has(key)) {
    const message = `Key "${key}" of queue ${queue.name} is given to two items.`;
    return { code: "bad_request", message };
  }
  keys.set(queue, used.add(key));
  const known = queue.keys.get(key);
  if (known === undefined) return undefined;
  return refuseKey(queue, known, fingerprint) ?? known.task;
}

/**
 * The items so that each comes after those it depends on, or the item at which a cycle closes.
 * Depth first with a stack of its own: a chain may be as long as the graph.
 */
function orderOf(items: readonly GraphItem[]): number[] | ItemRefusal {
  const order: number[] = [];
  const marks: ("open" | "placed" | undefined)[] = new Array(items.length).fill(undefined);
  const nexts: number[] = new Array(items.length).fill(0);
  for (let root = 0; root < items.length; root++) {
    const stack = marks[root] === undefined ? [root] : [];
    while (stack.length > 0) {
      const index = stack[stack.length - 1] as number;
      marks[index] = "open";
      const step = nexts[index] as number;
      nexts[index] = step + 1;
      const next = (items[index] as GraphItem).afterItems[step];
      if (next === undefined) {
        marks[index] = "placed";
        order.push(index);
        stack.pop();
      } else if (items[next] === undefined) {
        return { code: "unknown_dependency", message: `There is no item ${next}.`, item: index };
      } else if (marks[next] === "open") {
        const message = index === next ? "It depends on itself." : "It depends on itself through others.";
        return { code: "dependency_cycle", message, item: next };
      } else if (marks[next] === undefined) stack.push(next);
    }
  }
  return order;
}
