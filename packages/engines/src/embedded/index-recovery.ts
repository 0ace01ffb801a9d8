// Rebuilds the part of the index that the file lacks after a crash, from the records beyond the
// index's marks. Damaged records are noted and skipped.

import {
  historyLaneSegments,
  historyLanesMax,
  historySegmentOf,
  type TaskId,
  type WallTime,
} from "@yardmaster/core";
import { isBeyond } from "../lane-marks.js";
import { numberKey, numberOfKey } from "./keys.js";
import type { RecordFaults } from "./record-faults.js";
import type { Member, Segments } from "./segments.js";
import type { StoreFile } from "./store-file.js";
import type { StoreState } from "./store-state.js";
import { offsetOf } from "./task-block.js";
import type { TaskIndex } from "./task-index.js";
import type { TaskRecords } from "./task-records.js";
import { endedTerms } from "./terms.js";

interface Parts {
  readonly file: StoreFile;
  /** As the file has it. */
  readonly index: TaskIndex;
  readonly segments: Segments;
  readonly records: TaskRecords;
  readonly faults: RecordFaults;
}

/** Adds the tasks that were submitted or settled beyond the marks. */
export function extendIndex(parts: Parts, { indexedTask, indexedSettled }: StoreState): void {
  const { file, index, segments, records, faults } = parts;
  for (const key of file.heads.keys({ start: numberKey(indexedTask + 1) })) {
    const task = numberOfKey(key) as TaskId;
    const head = faults.ifSound(() => records.head(task));
    if (head !== undefined) index.addHead(head);
    // The record exists and cannot be read. The next read of it reports that.
    else index.blockFor(task).accept(offsetOf(task), Number.NaN as WallTime);
  }
  for (let lane = 0; lane <= historyLanesMax; lane++) {
    const start = lane * historyLaneSegments;
    const first = Math.max(start, historySegmentOf((indexedSettled[lane] ?? 0) + 1));
    for (const each of segments.indexes(first, start + historyLaneSegments - 1)) {
      for (const member of segments.get(each).members()) {
        if (isBeyond(indexedSettled, member.settled)) addMember(parts, member);
      }
    }
  }
}

function addMember({ index, records, faults }: Parts, { task, isBundled }: Member): void {
  const block = index.blockFor(task);
  block.settle(offsetOf(task));
  if (isBundled) {
    const head = faults.ifSound(() => records.head(task));
    if (head !== undefined) index.addHead(head);
    block.settle(offsetOf(task));
  }
  const progress = faults.ifSound(() => records.progress(task));
  if (progress !== undefined) index.addTerms(task, endedTerms(progress));
}
