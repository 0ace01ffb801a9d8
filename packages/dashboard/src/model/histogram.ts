// Tasks by time and queue: from the dispatcher's counts where it has them, else from the tasks that
// are listed.

import type { Task } from "../live/api-shapes.js";
import type { TaskCount } from "../live/task-list.js";

export interface Histogram {
  readonly from: number;
  readonly stepMs: number;
  readonly columns: readonly (readonly { readonly queue: string; readonly count: number }[])[];
  readonly top: number;
  /** False where only listed tasks are counted. */
  readonly isWhole: boolean;
}

const columnsMax = 120;

export function histogramOf(
  count: TaskCount | undefined,
  tasks: readonly Task[],
  now: number,
): Histogram | undefined {
  // Without tasks, the dispatcher's axis begins in 1970.
  if (count?.count === 0) return undefined;
  if (count?.histogram) {
    const { from, stepMs, queues } = count.histogram;
    const length = Math.max(0, ...Object.values(queues).map((counts) => counts.length));
    const columns = Array.from({ length }, (_, at) =>
      Object.entries(queues)
        .map(([queue, counts]) => ({ queue, count: counts[at] ?? 0 }))
        .filter((part) => part.count > 0),
    );
    return finish(Date.parse(from), stepMs, columns, true);
  }
  const times = tasks.map((task) => Date.parse(task.submittedAt));
  if (times.length < 2) return undefined;
  const first = Math.min(...times);
  const stepMs = Math.max(1, (Math.max(now, ...times) - first) / columnsMax);
  const columns: Map<string, number>[] = Array.from({ length: columnsMax }, () => new Map());
  tasks.forEach(({ queue }, at) => {
    const column = columns[Math.min(columnsMax - 1, Math.floor(((times[at] as number) - first) / stepMs))];
    column?.set(queue, (column.get(queue) ?? 0) + 1);
  });
  return finish(
    first,
    stepMs,
    columns.map((column) => [...column].map(([queue, many]) => ({ queue, count: many }))),
    false,
  );
}

function finish(from: number, stepMs: number, columns: Histogram["columns"], isWhole: boolean): Histogram {
  const sums = columns.map((parts) => parts.reduce((sum, part) => sum + part.count, 0));
  return { from, stepMs, columns, top: Math.max(1, ...sums), isWhole };
}
