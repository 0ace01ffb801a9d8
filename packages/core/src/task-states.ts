// The states of a task and the transitions between them. One table says which are legal, and one
// function writes the state. An illegal transition is a bug of ours and stops the process with the
// task's whole story.

import type { AttemptNumber, WorkerId } from "./names.js";
import type { StoryEntry, TaskStateName } from "./records.js";
import { storyOf } from "./story.js";
import type { Task } from "./task.js";
import type { Yard } from "./yard.js";

/** A waiting task may move to any state, because a peer without the lease may answer it. */
function isLegal(from: TaskStateName, to: TaskStateName): boolean {
  if (from === "waiting") return to !== "waiting";
  return from === "running" && to !== "running" && to !== "expired";
}

export function isFinished(state: TaskStateName): boolean {
  return state !== "waiting" && state !== "running";
}

/** The attempt that a transition is about. */
export interface About {
  readonly attempt: AttemptNumber | undefined;
  readonly workerId: WorkerId;
}

function changeState(yard: Yard, task: Task, to: TaskStateName, cause: string, about?: About): void {
  if (!isLegal(task.state, to)) {
    const story = JSON.stringify(storyOf(task.head, task.progress()));
    throw new Error(
      `task ${task.head.id} cannot go from ${task.state} to ${to} (${cause}); its story: ${story}`,
    );
  }
  // An ordinary story is derived from the other fields, so it is stored only from the first unusual
  // entry on.
  if (task.story !== undefined || !isOrdinary(to, cause)) write(yard, task, to, cause, about);
  task.state = to;
}

export function moveTask(yard: Yard, task: Task, to: TaskStateName, cause: string, about?: About): void {
  changeState(yard, task, to, cause, about);
  yard.step.touch(task);
}

/** Records an assignment. `mayWait`: nothing needs to find it on disk soon. */
export function beginTask(yard: Yard, task: Task, about: About, mayWait: boolean): void {
  changeState(yard, task, "running", "assigned", about);
  if (mayWait && task.story === undefined) yard.step.begin(task);
  else yard.step.touch(task);
}

/** Adds an entry without a transition, such as a refused late answer. */
export function tellStory(yard: Yard, task: Task, cause: string, about?: About): void {
  write(yard, task, task.state, cause, about);
  yard.step.touch(task);
}

/** Replaces the array instead of changing it, because records share it. */
function write(yard: Yard, task: Task, to: TaskStateName, cause: string, about: About | undefined): void {
  const entry: StoryEntry = {
    at: yard.now.wall,
    to,
    cause,
    attempt: about?.attempt,
    worker: about?.workerId,
  };
  const story = task.story ?? storyOf(task.head, task.progress());
  const lengthMax = yard.options.limits.storyLength;
  task.story = story.length < lengthMax ? [...story, entry] : [...story.slice(1 - lengthMax), entry];
}

/** True for the transitions of a task that is done, or fails, at its first attempt. */
function isOrdinary(to: TaskStateName, cause: string): boolean {
  return (
    (to === "running" && cause === "assigned") ||
    (to === "done" && cause === "done") ||
    (to === "failed" && cause === "failed")
  );
}
