// The states of a task, in the order in which they happen.

export const taskStates = ["waiting", "running", "done", "failed", "cancelled", "expired"] as const;
export type TaskState = (typeof taskStates)[number];

export function isFinished(state: TaskState): boolean {
  return state !== "waiting" && state !== "running";
}

export function isTaskState(text: string): text is TaskState {
  return taskStates.some((state) => state === text);
}
