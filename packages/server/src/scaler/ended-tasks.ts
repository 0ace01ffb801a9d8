// Reads ended tasks from the store on behalf of the scaler door, page by page.

import type { TaskHead, TaskId } from "@yardmaster/core";
import { cursorBelow, type TaskPage } from "@yardmaster/engines";
import type { Reads } from "../door-kit/door.js";

/** Small, because the records come with their bodies. */
const readAtOnce = 256;
/** Rare states come first, so that many done tasks do not use up the maximum. */
const endedStates = ["cancelled", "expired", "failed", "done"] as const;

/** Calls `take` with up to `max` tasks of the queue with numbers up to `last`, newest first. */
export async function readEnded(
  reads: Pick<Reads, "find" | "whenCaughtUp">,
  { queue, last, max }: { readonly queue: string; readonly last: TaskId; readonly max: number },
  take: (heads: readonly TaskHead[]) => void,
): Promise<void> {
  let left = max;
  for (const state of endedStates) {
    const query = { queue, state, limit: readAtOnce };
    let cursor: string | undefined = cursorBelow((last + 1) as TaskId, query);
    while (cursor !== undefined && left > 0) {
      const page: TaskPage = await reads.find({ ...query, cursor });
      take(page.items.map(({ head }) => head));
      left -= page.items.length;
      cursor = page.cursor;
      await reads.whenCaughtUp();
    }
  }
}
