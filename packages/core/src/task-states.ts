// The states of a task and the moves between them: the one table that says what may follow what, and the one function
// that writes a task's state. An impossible move is our own mistake and stops the process with the task's whole story.

import type { AttemptNumber, WorkerId } from "./names.js";
import type { StoryEntry, TaskStateName } from "./records.js";
import type { Task } from "./task.js";
import type { WallTime } from "./time.js";

const legalMoves: Readonly<Record<TaskStateName, readonly TaskStateName[]>> = {
  // waiting → done or failed: a worker that kept its task over our restart answers before it was given out again.
  waiting: ["running", "done", "failed", "cancelled", "expired"],
  running: ["waiting", "done", "failed", "cancelled"],
  done: [],
  failed: [],
  cancelled: [],
  expired: [],
};

export function isFinished(state: TaskStateName): boolean {
  return state !== "waiting" && state !== "running";
}

export interface Cause {
  readonly at: WallTime;
  readonly cause: string;
  readonly attempt?: AttemptNumber | undefined;
  readonly worker?: WorkerId | undefined;
}

export function moveTask(task: Task, to: TaskStateName, cause: Cause, storyLengthMax: number): void {
  if (!legalMoves[task.state].includes(to)) {
    throw new Error(
      `task ${task.head.id} cannot go from ${task.state} to ${to} (${cause.cause}); its story: ${JSON.stringify(task.story)}`,
    );
  }
  task.state = to;
  tellStory(task, cause, storyLengthMax);
}

/** Adds an entry without a move: a late answer that was refused. The array is replaced, never changed: it is shared. */
export function tellStory(task: Task, cause: Cause, storyLengthMax: number): void {
  const entry: StoryEntry = {
    at: cause.at,
    to: task.state,
    cause: cause.cause,
    ...(cause.attempt === undefined ? {} : { attempt: cause.attempt }),
    ...(cause.worker === undefined ? {} : { worker: cause.worker }),
  };
  const story = storyOf(task);
  task.story =
    story.length < storyLengthMax ? [...story, entry] : [...story.slice(1 - storyLengthMax), entry];
}

/** The story so far. That of a task which was only accepted is not kept but made: a million of them wait. */
export function storyOf(task: Task): readonly StoryEntry[] {
  return task.story ?? [{ at: task.head.submittedAt, to: "waiting", cause: "submitted" }];
}
