// Coalescing: of all that a group of batches says about a task, the store writes only what remains.

import type { TaskId } from "@yardmaster/core";
import { recordKinds } from "../records/index.js";
import type { Batch, BatchRecord } from "./batches.js";

/** What the store knows about tasks before it applies a group. */
export interface KnownTasks {
  /** Tasks that settled ahead of their batches, until the batch that settles them is applied. */
  readonly ahead: Set<TaskId>;
  isSettled(task: TaskId): boolean;
}

/** Marks each progress that must be written: the last of its task, and those with a place. */
export function markNeeded(batches: readonly Batch[], known: KnownTasks): void {
  const last = new Map<TaskId, BatchRecord>();
  const settledHere = new Set<TaskId>();
  for (const batch of batches) {
    for (const record of batch.records) {
      if (record.kind !== recordKinds.progress) continue;
      const { task, settled } = record;
      record.isNeeded = false;
      if (known.ahead.has(task)) {
        if (settled > 0) known.ahead.delete(task);
        continue;
      }
      const before = last.get(task);
      if (before !== undefined) before.isNeeded = false;
      if (settled > 0) settledHere.add(task);
      // A record that brings a task back from history must be written: otherwise a trim in between
      // would evict the task.
      if (settledHere.has(task) || known.isSettled(task)) last.delete(task);
      else last.set(task, record);
      record.isNeeded = true;
    }
  }
}
