// Finds tasks in the memory engine, newest first. It has no index but the order of ids and the times of each page: an
// answer near the newest tasks is found at once, a rare one by walking back over all that is kept. That walk is taken
// in slices with a turn of the event loop between them, so it may be long but holds nobody up.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { StoredTask, TaskId } from "@yardmaster/core";
import { cursorBelow, startOf } from "../cursor.js";
import type { TaskPage as Answer, TaskQuery } from "../engine.js";
import { isAskedFor } from "../task-filter.js";
import { pageSize, type TaskPage, type TaskPages } from "./task-pages.js";

/** Pages looked at in one turn: 512 tasks, about a millisecond. */
export const pagesPerTurn = 8;

export async function findTasks(tasks: TaskPages, query: TaskQuery): Promise<Answer> {
  const items: StoredTask[] = [];
  let below = startOf(query);
  let pagesLeft = pagesPerTurn;
  // What is known over a turn is only the id reached: pages may come and go meanwhile.
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

/** Adds what the page has below this id; the id that filled the answer, if one did. */
function collect(page: TaskPage, below: number, query: TaskQuery, items: StoredTask[]): TaskId | undefined {
  for (let id = Math.min(below, page.firstId + pageSize) - 1; id >= page.firstId; id--) {
    const task = page.task(id);
    if (task === undefined || !isAskedFor(query, task.head, task.progress)) continue;
    items.push(task);
    if (items.length === query.limit) return task.head.id;
  }
  return undefined;
}

function mayHold(page: TaskPage, { since, until }: TaskQuery): boolean {
  return (
    (since === undefined || page.submittedTo >= since) && (until === undefined || page.submittedFrom < until)
  );
}
