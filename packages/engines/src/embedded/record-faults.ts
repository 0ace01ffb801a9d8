// Faults of damaged or missing records.

import type { TaskId } from "@yardmaster/core";
import { BadRecord } from "../records/index.js";
import { numberKey } from "./keys.js";
import type { StoreFile } from "./store-file.js";

/** Collects descriptions of the damaged records that were skipped, without repetitions. */
export class RecordFaults {
  found: string[] = [];

  /** Returns what was read, or undefined if the record is damaged. */
  ifSound<Value>(read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof BadRecord)) throw error;
      if (!this.found.includes(error.message)) this.found.push(error.message);
      return undefined;
    }
  }
}

/** The fault of a task in the index that has no head, or of a settled one without a progress. */
export function missingRecord({ heads, progress }: StoreFile, id: TaskId, hasHead: boolean): BadRecord {
  const what = hasHead
    ? `${progress.nameOf(numberKey(id))}: it ended, and its outcome is missing`
    : `${heads.nameOf(numberKey(id))}: it was accepted and is missing`;
  return new BadRecord(what);
}
