// A store for tests: the committed state in a few maps, in the slow and obvious way. It restores a
// core as an engine would after a crash.

import type { Dispatcher } from "../dispatcher.js";
import {
  type HistorySegment,
  historyLaneOf,
  historyLaneStart,
  historySegmentOf,
  storedBytes,
} from "../history-segment.js";
import type { TaskId } from "../names.js";
import {
  type Change,
  coreMemoDoor,
  type DoorRecord,
  type KeyRecord,
  type MemoRecord,
  type QueueRecord,
  type StoredTask,
} from "../records.js";

export class ModelStore {
  readonly tasks = new Map<TaskId, StoredTask>();
  readonly keys = new Map<string, KeyRecord>();
  readonly queues = new Map<string, QueueRecord>();
  readonly doors = new Map<string, DoorRecord>();
  readonly memos = new Map<string, MemoRecord>();
  lastTask = 0;
  /** By lane. */
  lanes: number[] = [0];

  get lastSettled(): number {
    return this.lanes[0] ?? 0;
  }

  apply(changes: readonly Change[]): void {
    for (const change of changes) this.#apply(change);
  }

  copy(): ModelStore {
    const copy = new ModelStore();
    for (const [id, task] of this.tasks) copy.tasks.set(id, task);
    for (const [name, key] of this.keys) copy.keys.set(name, key);
    for (const [name, queue] of this.queues) copy.queues.set(name, queue);
    for (const [name, door] of this.doors) copy.doors.set(name, door);
    for (const [name, memo] of this.memos) copy.memos.set(name, memo);
    copy.lastTask = this.lastTask;
    copy.lanes = [...this.lanes];
    return copy;
  }

  /** Unsettled tasks, by rising id. */
  unsettled(): StoredTask[] {
    return [...this.tasks.values()]
      .filter((task) => settledOf(task) === 0)
      .sort((one, other) => one.head.id - other.head.id);
  }

  restoreInto({ recovery }: Dispatcher): void {
    // Newest first, except for tasks: an engine may stream them in any order.
    for (const segment of this.segments().reverse()) recovery.segment(segment);
    for (const key of [...this.keys.values()].reverse()) recovery.key(key);
    for (const task of this.unsettled()) recovery.task(task);
    for (const queue of this.queues.values()) recovery.orders(queue);
    for (const door of this.doors.values()) recovery.door(door);
    for (const memo of this.memos.values()) if (memo.door === coreMemoDoor) recovery.memo(memo);
  }

  segments(): HistorySegment[] {
    const segments = new Map<number, HistorySegment>();
    for (const task of this.tasks.values()) {
      const { head, progress } = task;
      if (progress?.finishedAt === undefined || progress.settled === 0) continue;
      const index = historySegmentOf(progress.settled);
      const known = segments.get(index) ?? { index, count: 0, bytes: 0, lastFinishedAt: progress.finishedAt };
      const isLater = progress.finishedAt > known.lastFinishedAt;
      segments.set(index, {
        index,
        count: known.count + 1,
        bytes: known.bytes + storedBytes(head, progress.result),
        lastFinishedAt: isLater ? progress.finishedAt : known.lastFinishedAt,
      });
    }
    return [...segments.values()].sort((one, other) => one.index - other.index);
  }

  #noteSettled(settled: number): void {
    if (settled === 0) return;
    const lane = historyLaneOf(historySegmentOf(settled));
    this.lanes[lane] = Math.max(this.lanes[lane] ?? 0, settled);
  }

  #apply(change: Change): void {
    switch (change.kind) {
      case "head":
        this.tasks.set(change.head.id, {
          head: change.head,
          progress: this.tasks.get(change.head.id)?.progress,
        });
        this.lastTask = Math.max(this.lastTask, change.head.id);
        return;
      case "progress": {
        const task = this.tasks.get(change.progress.id);
        if (task === undefined) return;
        this.tasks.set(task.head.id, { head: task.head, progress: change.progress });
        this.#noteSettled(change.progress.settled);
        return;
      }
      case "key":
        this.keys.set(`${change.key.queue} ${change.key.key}`, change.key);
        return;
      case "key-gone": {
        const name = `${change.queue} ${change.key}`;
        if (this.keys.get(name)?.task === change.task) this.keys.delete(name);
        return;
      }
      case "queue":
        this.queues.set(change.queue.name, change.queue);
        return;
      case "queue-gone":
        this.queues.delete(change.name);
        return;
      case "door":
        this.doors.set(change.door.name, change.door);
        return;
      case "memo":
        this.memos.set(`${change.memo.door} ${change.memo.name}`, change.memo);
        return;
      case "memo-gone":
        this.memos.delete(`${change.door} ${change.name}`);
        return;
      case "history-trimmed":
        for (const [id, task] of this.tasks) {
          const settled = settledOf(task);
          const segment = historySegmentOf(settled);
          const isOfLane = segment >= historyLaneStart(change.through);
          if (settled > 0 && isOfLane && segment <= change.through) this.tasks.delete(id);
        }
        return;
      default:
        change satisfies never;
    }
  }
}

function settledOf(task: StoredTask): number {
  return task.progress?.settled ?? 0;
}
