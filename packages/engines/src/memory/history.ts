// Which tasks are settled, by segment of history, with the sums that `load` gives: kept as tasks come and go, so that
// neither loading nor trimming looks at a task it does not have to.

import {
  type HistorySegment,
  historySegmentOf,
  storedBytes,
  type TaskHead,
  type TaskId,
  type TaskProgress,
  type WallTime,
} from "@yardmaster/core";
import { OrderedMap } from "./ordered-map.js";
import type { TaskPages } from "./task-pages.js";

interface Segment {
  /** As they came. */
  readonly ids: TaskId[];
  bytes: number;
  lastFinishedAt: WallTime;
}

export class History {
  readonly #tasks: TaskPages;
  readonly #segments = new OrderedMap<Segment>();
  /** The greatest place ever taken, trimmed or not. */
  lastSettled = 0;

  constructor(tasks: TaskPages) {
    this.#tasks = tasks;
  }

  enter(head: TaskHead, progress: TaskProgress): void {
    const index = historySegmentOf(progress.settled);
    let segment = this.#segments.get(index);
    if (!segment) {
      segment = { ids: [], bytes: 0, lastFinishedAt: 0 as WallTime };
      this.#segments.set(index, segment);
    }
    segment.ids.push(head.id);
    segment.bytes += storedBytes(head, progress.result);
    segment.lastFinishedAt = laterOf(segment.lastFinishedAt, progress.finishedAt);
    this.lastSettled = Math.max(this.lastSettled, progress.settled);
  }

  /** Takes a task out whose record is about to be replaced: a put is absolute, so its sums are made anew. */
  leave(head: TaskHead, progress: TaskProgress): void {
    const index = historySegmentOf(progress.settled);
    const segment = this.#segments.get(index);
    const place = segment?.ids.indexOf(head.id) ?? -1;
    if (!segment || place < 0) return;
    segment.ids.splice(place, 1);
    segment.bytes -= storedBytes(head, progress.result);
    segment.lastFinishedAt = this.#lastFinishedOf(segment.ids);
    if (segment.ids.length === 0) this.#segments.delete(index);
  }

  /** Forgets the segments up to and with this one, and says which tasks were in them. */
  takeThrough(index: number): TaskId[] {
    return this.#segments.takeThrough(index).flatMap((segment) => segment.ids);
  }

  /** By rising index. */
  *segments(): Generator<HistorySegment> {
    for (const [index, { ids, bytes, lastFinishedAt }] of this.#segments.entries()) {
      yield { index, count: ids.length, bytes, lastFinishedAt };
    }
  }

  #lastFinishedOf(ids: readonly TaskId[]): WallTime {
    return ids.reduce((last, id) => laterOf(last, this.#tasks.progress(id)?.finishedAt), 0 as WallTime);
  }
}

function laterOf(one: WallTime, other: WallTime | undefined): WallTime {
  return other !== undefined && other > one ? other : one;
}
