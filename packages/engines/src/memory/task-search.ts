// Finds tasks in the memory engine, newest first. Its only index is the order of ids and the times
// of each page. So a match among the newest tasks is found at once, and a rare one by walking back
// over everything. The walk yields to the event loop between slices, so it may be long but does not
// delay anything else.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { StoredTask, TaskId } from "@yardmaster/core";
import { cursorBelow, startOf } from "../cursor.js";
import type { TaskPage, TaskQuery } from "../engine.js";
import { isAskedFor } from "../task-filter.js";
import { type MemoryPage, pageSize, type TaskPages } from "./task-pages.js";

/** Pages examined per turn: 512 tasks, about a millisecond. */
export const pagesPerTurn = 8;

export async function findTasks(tasks: TaskPages, query: TaskQuery): Promise<TaskPage> {
  const items: StoredTask[] = [];
  let below = startOf(query);
  let pagesLeft = pagesPerTurn;
  // Only the id that was reached is kept between turns, because pages may come and go.
  for (let page = tasks.pageBelow(below); page; page = tasks.pageBelow(below)) {
    const full = mayHold(page, query) ? collect(page, below, query, items) : undefined;
    if (full) return { items, cursor: tasks.hasBelow(full) ? cursorBelow(full, query) : undefined };
    below = page.firstId;
    if (--pagesLeft === 0) {
      await nextTurn();
      pagesLeft = pagesPerTurn;
    }
  }
  return { items, cursor: undefined };
}

/** Adds matches of the page below this id. Returns the id that filled the answer, if one did. */
function collect(page: MemoryPage, below: number, query: TaskQuery, items: StoredTask[]): TaskId | undefined {
  for (let id = Math.min(below, page.firstId + pageSize) - 1; id >= page.firstId; id--) {
    const task = page.task(id);
    if (task === undefined || !isAskedFor(query, task.head, task.progress)) continue;
    items.push(task);
    if (items.length === query.limit) return task.head.id;
  }
  return undefined;
}

function mayHold(page: MemoryPage, { since, until }: TaskQuery): boolean {
  return (
    (since === undefined || page.submittedTo >= since) && (until === undefined || page.submittedFrom < until)
  );
}
