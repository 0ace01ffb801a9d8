// Answers from peers that hold no lease. In a dialect whose answers name no attempt, the first
// answer ends the task. In a dialect whose clients know tasks by a name of their own, that name is
// looked up here.

import type { DoorState } from "./door-state.js";
import type { RefusalCode } from "./effects.js";
import type { YardEvent } from "./events.js";
import { finish } from "./finishing.js";
import type { TaskId } from "./names.js";
import { revoke } from "./releasing.js";
import type { Task } from "./task.js";
import { isFinished, tellStory } from "./task-states.js";
import type { Yard } from "./yard.js";

type Sought = Extract<YardEvent, { type: "task-sought" }>;
type Answered = Extract<YardEvent, { type: "task-answered" }>;

/**
 * Finds the live task with this key. A finished task is `wrong_state` until its key is forgotten.
 */
export function handleSought(yard: Yard, door: DoorState, { request, queue, key }: Sought): void {
  const entry = yard.queues.get(queue)?.keys.get(key);
  const task = entry === undefined ? undefined : yard.tasks.get(entry.task);
  if (entry === undefined) refuse(yard, door, request, "not_found", `No task has the key "${key}".`);
  else if (task === undefined || isFinished(task.state)) refuseFinished(yard, door, request, entry.task);
  else yard.reply(door, request, { type: "granted", task: entry.task });
}

/**
 * Revokes a running task's lease, as a cancel does. The worker's own answer then comes too late.
 */
export function handleAnswered(yard: Yard, door: DoorState, event: Answered): void {
  const task = yard.tasks.get(event.task);
  if (task === undefined) {
    refuse(yard, door, event.request, "not_found", `There is no live task ${event.task}.`, event.task);
    return;
  }
  if (isFinished(task.state)) {
    refuseFinished(yard, door, event.request, event.task);
    return;
  }
  const by = yard.bounded(event.by);
  if ("result" in event) end(yard, task, "done", `done by ${by}`, { result: event.result });
  else fail(yard, task, by, event);
  yard.reply(door, event.request, { type: "granted", task: event.task });
}

/**
 * Counts as a worker's failure does. Unless it is the last one allowed, the task stays where it is.
 */
function fail(yard: Yard, task: Task, by: string, { error }: Extract<Answered, { error: unknown }>): void {
  task.failures += 1;
  const message = yard.bounded(error.message);
  if (task.failures < task.head.policy.failures) tellStory(yard, task, `failed by ${by}: ${message}`);
  else end(yard, task, "failed", `failed by ${by}`, { error: { code: yard.bounded(error.code), message } });
}

function end(
  yard: Yard,
  task: Task,
  state: "done" | "failed",
  cause: string,
  how: Parameters<typeof finish>[4],
): void {
  if (task.state === "running" && task.lease !== undefined) revoke(yard, task.lease, "answered");
  finish(yard, task, state, cause, how);
}

function refuseFinished(yard: Yard, door: DoorState, request: number | undefined, task: TaskId): void {
  refuse(yard, door, request, "wrong_state", `Task ${task} is finished already.`, task);
}

function refuse(
  yard: Yard,
  door: DoorState,
  request: number | undefined,
  code: RefusalCode,
  message: string,
  task?: TaskId,
): void {
  yard.reply(door, request, { type: "refused", code, message, ...(task === undefined ? {} : { task }) });
}
