// What people ask about the yard: its tasks, workers, queues and schedules, and why a task waits.
// Changes nothing that is committed.

import type { TaskId } from "./names.js";
import type { SeenAttempt } from "./observer.js";
import { countQueue, viewQueue } from "./queue-view.js";
import type { StoredTask } from "./records.js";
import type { ScheduleView } from "./schedule.js";
import { viewSchedule } from "./scheduling.js";
import type { Moment } from "./time.js";
import type { QueueCounts, QueueView, TaskOutlook, Why, WorkerView } from "./views.js";
import { viewOutlook, whyWaiting } from "./why.js";
import { viewWorker } from "./worker-view.js";
import type { Yard } from "./yard.js";

export class YardView {
  readonly #yard: Yard;

  constructor(yard: Yard) {
    this.#yard = yard;
  }

  /** A task in memory, in its current state. */
  liveTask(id: TaskId): StoredTask | undefined {
    const task = this.#yard.tasks.get(id);
    if (task === undefined) return undefined;
    const progress = task.progress();
    // The record may say `told` in advance. That is true only once the outcome has been delivered.
    return { head: task.head, progress: task.place === "telling" ? { ...progress, told: false } : progress };
  }

  /** Tasks that depend on this one and have not ended, the oldest first; at most `max`. */
  dependents(id: TaskId, max: number): TaskId[] {
    const found: TaskId[] = [];
    for (const { head } of this.#yard.tasks.get(id)?.bonds?.dependents ?? []) {
      if (found.length >= max) break;
      found.push(head.id);
    }
    return found;
  }

  why(id: TaskId, now: Moment): Why | undefined {
    this.#yard.now = now;
    const task = this.#yard.tasks.get(id);
    return task === undefined ? undefined : whyWaiting(this.#yard, task);
  }

  workers(now = this.#yard.now): WorkerView[] {
    this.#yard.now = now;
    return [
      ...[...this.#yard.workers.values()].map((worker) => viewWorker(this.#yard, worker)),
      ...this.#yard.lostWorkers,
    ];
  }

  /** The counts of each queue. */
  *queueCounts(): Generator<QueueCounts> {
    for (const queue of this.#yard.queues.values()) yield countQueue(queue);
  }

  /**
   * Facts about a live task that are not in its record: the number of tasks before it, and its
   * attempt's deadline.
   */
  outlook(id: TaskId, now: Moment): TaskOutlook {
    return viewOutlook(this.#yard.tasks.get(id), now);
  }

  queues(now = this.#yard.now): QueueView[] {
    this.#yard.now = now;
    return [...this.#yard.queues.values()].map((queue) => viewQueue(this.#yard, queue));
  }

  /** The queue of this name. One with configured settings is there before its first use. */
  queue(name: string): QueueView | undefined {
    const { queues, options } = this.#yard;
    const queue = queues.get(name) ?? (options.queues.has(name) ? this.#yard.addQueue(name) : undefined);
    return queue === undefined ? undefined : viewQueue(this.#yard, queue);
  }

  schedules(): ScheduleView[] {
    return [...this.#yard.schedules.values()].map(viewSchedule);
  }

  /** Attempts that are out now; not to be kept. */
  *attempts(): Generator<SeenAttempt> {
    for (const worker of this.#yard.workers.values()) {
      for (let lease = worker.oldest; lease !== undefined; lease = lease.newer)
        if (!lease.isRevoked) yield lease;
    }
  }
}
