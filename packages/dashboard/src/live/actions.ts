// What a person may do from the page: orders to queues and workers, and to single tasks. Each says
// in a note how it went.

import { counted } from "../model/numbers.js";
import { shownLine } from "../model/shown-text.js";
import type { Task, Worker } from "./api-shapes.js";
import { faultWords, post } from "./session.js";
import { toast } from "./toasts.js";

async function tried(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (fault) {
    toast(`That did not work: ${shownLine(faultWords(fault))}.`, { isError: true });
    return false;
  }
}

const queuePath = (queue: string, order: string) => `v1/queues/${encodeURIComponent(queue)}:${order}`;

export function pauseQueue(queue: string): Promise<boolean> {
  return tried(async () => {
    await post(queuePath(queue, "pause"));
    toast(`${queue} is paused.`, { undo: { label: "Undo", act: () => void resumeQueue(queue) } });
  });
}

export function resumeQueue(queue: string): Promise<boolean> {
  return tried(async () => {
    await post(queuePath(queue, "resume"));
    toast(`${queue} runs again.`, { undo: { label: "Undo", act: () => void pauseQueue(queue) } });
  });
}

export function drainQueue(queue: string): Promise<boolean> {
  return tried(async () => {
    await post(queuePath(queue, "drain"));
    toast(`${queue} accepts no more tasks and runs those it has.`, {
      undo: { label: "Undo", act: () => void resumeQueue(queue) },
    });
  });
}

export function drainWorker(id: string): Promise<boolean> {
  return tried(async () => {
    const worker = await post<Worker>(`v1/workers/${encodeURIComponent(id)}:drain`);
    toast(`${shownLine(id)} is being drained, ${counted(worker.running, "task")} left.`);
  });
}

export function cancelTask(id: string): Promise<boolean> {
  return tried(async () => {
    await post<Task>(`v1/tasks/${id}:cancel`);
    toast(`Task ${id} is cancelled.`);
  });
}

/** The new task that runs the same payload again. */
export async function retryTask(id: string): Promise<Task | undefined> {
  let task: Task | undefined;
  await tried(async () => {
    task = await post<Task>(`v1/tasks/${id}:retry`);
    toast(`Task ${task.id} was submitted with the same payload.`);
  });
  return task;
}
