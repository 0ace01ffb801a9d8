// The states of a task and the moves between them: the one table that says what may follow what, and the one function
// that writes a task's state. An impossible move is our own mistake and stops the process with the task's whole story.

import type { AttemptNumber, WorkerId } from "./names.js";
import { type StoryEntry, storyOf, type TaskStateName } from "./records.js";
import type { Task } from "./task.js";
import type { Yard } from "./yard.js";

/** From waiting a task may go anywhere: an answer may come from somebody who was not given it. */
function isLegal(from: TaskStateName, to: TaskStateName): boolean {
  if (from === "waiting") return to !== "waiting";
  return from === "running" && to !== "running" && to !== "expired";
}

export function isFinished(state: TaskStateName): boolean {
  return state !== "waiting" && state !== "running";
}

/** The attempt that a move is about. */
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
  // An ordinary life tells itself: it is written down from the first thing that is out of the ordinary.
  if (task.story !== undefined || !isOrdinary(to, cause)) write(yard, task, to, cause, about);
  task.state = to;
}

export function moveTask(yard: Yard, task: Task, to: TaskStateName, cause: string, about?: About): void {
  changeState(yard, task, to, cause, about);
  yard.step.touch(task);
}

/** It is given out. `mayWait`: nobody has to find that on the disk before long. */
export function beginTask(yard: Yard, task: Task, about: About, mayWait: boolean): void {
  changeState(yard, task, "running", "assigned", about);
  if (mayWait && task.story === undefined) yard.step.begin(task);
  else yard.step.touch(task);
}

/** Adds an entry without a move: a late answer that was refused, say. */
export function tellStory(yard: Yard, task: Task, cause: string, about?: About): void {
  write(yard, task, task.state, cause, about);
  yard.step.touch(task);
}

/** The array is replaced, never changed: records share it. */
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

/** The moves of a task to which nothing happens but that it is done, or fails, the first time. */
function isOrdinary(to: TaskStateName, cause: string): boolean {
  return (
    (to === "running" && cause === "assigned") ||
    (to === "done" && cause === "done") ||
    (to === "failed" && cause === "failed")
  );
}
