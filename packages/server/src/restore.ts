// Loads the engine's content into the core.

import { coreMemoDoor, type Dispatcher } from "@yardmaster/core";
import type { Engine, LoadItem } from "@yardmaster/engines";
import type { DoorMemos } from "./door-memos.js";

/** Progress of a load. */
export interface Loading {
  readonly tasks: number;
  /** All records read so far, including tasks. */
  readonly records: number;
}

/** Progress is reported once per this many records; the listener decides how often to show it. */
const recordsAtOnce = 1000;

/** Loads everything and returns the last numbers that were assigned. */
export async function restoreAll(
  engine: Engine,
  core: Dispatcher,
  memos: DoorMemos,
  onLoading: ((loading: Loading) => void) | undefined,
): Promise<Extract<LoadItem, { type: "end" }>> {
  let last: Extract<LoadItem, { type: "end" }> | undefined;
  let tasks = 0;
  let records = 0;
  await engine.load((item) => {
    if (item.type === "end") last = item;
    else if (item.type === "memo" && item.memo.door === coreMemoDoor) core.recovery.memo(item.memo);
    else if (item.type === "memo") memos.put(item.memo);
    else if (item.type === "large-memo") memos.putLarge(item.door, item.name, item.size);
    else restore(core, item);
    if (item.type === "task") tasks += 1;
    records += 1;
    if (records % recordsAtOnce === 0) onLoading?.({ tasks, records });
  });
  if (last === undefined) throw new Error(`engine ${engine.name} ended its load without saying so`);
  return last;
}

function restore(core: Dispatcher, item: Exclude<LoadItem, { type: "end" | "memo" | "large-memo" }>): void {
  switch (item.type) {
    case "task":
      return core.recovery.task(item.task);
    case "key":
      return core.recovery.key(item.key);
    case "queue":
      return core.recovery.orders(item.queue);
    case "door":
      return core.recovery.door(item.door);
    case "segment":
      return core.recovery.segment(item.segment);
    default:
      item satisfies never;
  }
}
