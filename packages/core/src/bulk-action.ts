// A bulk action: cancel, retry or purge many tasks in bounded steps. The door chooses the tasks of
// each step; the core acts on them and writes the action's record in the same step. So a crash
// repeats no part of an action and leaves none out.

import { cancel, submitOwn } from "./accepting.js";
import { type ActionRecord, type ActionWork, actionMemoName } from "./action-record.js";
import type { DoorState } from "./door-state.js";
import type { YardEvent } from "./events.js";
import { acceptGraph } from "./graph.js";
import type { Task } from "./task.js";
import { isFinished } from "./task-states.js";
import type { Yard } from "./yard.js";

type ActionStepped = Extract<YardEvent, { type: "action-stepped" }>;

/** The counts of one step. */
interface Tally {
  done: number;
  refused: number;
  /** Why the last of those was refused. */
  refusal: string | undefined;
  /** True if the next step of a purge may find more tasks. */
  isMore: boolean;
}

export function handleActionStepped(yard: Yard, door: DoorState, event: ActionStepped): void {
  const { action, work, request } = event;
  if (yard.isClosing) {
    const message = "The dispatcher is stopping; the action goes on after the next start.";
    yard.reply(door, request, { type: "refused", code: "not_ready", message });
    return;
  }
  const tally: Tally = { done: 0, refused: 0, refusal: undefined, isMore: false };
  if (work !== undefined) act(yard, door, action, work, tally);
  const { done, refused, isMore } = tally;
  yard.counters.actionTasks.add(action.kind, "done", done);
  yard.counters.actionTasks.add(action.kind, "refused", refused);
  const record: ActionRecord = {
    ...action,
    upTo: action.upTo ?? yard.lastTask,
    matched: action.matched + done + refused,
    done: action.done + done,
    refused: action.refused + refused,
    lastRefusal: tally.refusal ?? action.lastRefusal,
  };
  const bytes = new TextEncoder().encode(JSON.stringify(record));
  yard.step.change({ kind: "memo", memo: { door: door.name, name: actionMemoName(record.id), bytes } });
  yard.reply(door, request, { type: "acted", action: record, isMore });
}

function act(yard: Yard, door: DoorState, action: ActionRecord, work: ActionWork, tally: Tally): void {
  const by = yard.bounded(`${action.by}, action ${action.id}`);
  switch (work.type) {
    case "cancel":
      for (const id of work.tasks) cancelOne(yard, id, work.state, by, tally);
      return;
    case "purge":
      return purge(yard, action, work, by, tally);
    case "submit":
      for (const submission of work.submissions) {
        const made = submitOwn(yard, door, submission);
        if ("code" in made) refuse(tally, made.message);
        else tally.done += 1;
      }
      return;
    case "submit-graph": {
      const { length } = work.items;
      const made = acceptGraph(yard, door, work.items, work.pastOutcomes);
      if ("code" in made) refuse(tally, made.message, length);
      else tally.done += length;
      return;
    }
    default:
      work satisfies never;
  }
}

function cancelOne(
  yard: Yard,
  id: Task["head"]["id"],
  state: Task["state"] | undefined,
  by: string,
  tally: Tally,
): void {
  const task = yard.tasks.get(id);
  if (task === undefined || isFinished(task.state)) refuse(tally, `Task ${id} has finished meanwhile.`);
  else if (state !== undefined && task.state !== state)
    refuse(tally, `Task ${id} is ${task.state}, not ${state} any more.`);
  else {
    cancel(yard, task, by);
    tally.done += 1;
  }
}

function refuse(tally: Tally, message: string, tasks = 1): void {
  tally.refused += tasks;
  tally.refusal = message;
}

/**
 * Cancels ready tasks from the head of the queue, without a search. It stops at the first task that
 * was submitted after the action began. The door finds the tasks that wait elsewhere (for a delay,
 * a backoff, or a worker that may come back).
 */
function purge(
  yard: Yard,
  { upTo = 0 }: ActionRecord,
  work: Extract<ActionWork, { type: "purge" }>,
  by: string,
  tally: Tally,
): void {
  const queue = yard.queues.get(work.queue);
  if (queue === undefined) return;
  for (const { ready } of queue.readyGroups()) {
    for (let task = ready.first(); task !== undefined && task.head.id <= upTo; task = ready.first()) {
      if (tally.done === work.max) {
        tally.isMore = true;
        return;
      }
      cancel(yard, task, by);
      tally.done += 1;
    }
  }
}
