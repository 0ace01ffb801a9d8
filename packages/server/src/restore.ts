// What an engine loads, back into the core.

import type { Dispatcher } from "@yardmaster/core";
import type { LoadItem } from "@yardmaster/engines";

export function restore(core: Dispatcher, item: Exclude<LoadItem, { type: "end" | "memo" }>): void {
  switch (item.type) {
    case "task":
      return core.restoreTask(item.task);
    case "key":
      return core.restoreKey(item.key);
    case "queue":
      return core.restoreQueue(item.queue);
    case "door":
      return core.restoreDoor(item.door);
    case "segment":
      return core.restoreSegment(item.segment);
    default:
      item satisfies never;
  }
}
