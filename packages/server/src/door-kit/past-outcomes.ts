// The core holds only tasks that have not ended or on which others depend. The outcome of an older
// dependency is read from history, and the door passes it to the core with the submission.

import type { PastOutcome, TaskId } from "@yardmaster/core";
import type { Engine } from "@yardmaster/engines";
import type { Reads } from "./door.js";

/**
 * Calls `go` with the outcomes of the dependencies that the core does not hold. The call follows
 * the last check without a pause, so the outcomes are complete. A task that is not in history
 * either is left out, and the core refuses it.
 */
export async function withPastOutcomes(
  reads: Pick<Reads, "isLive" | "pastOutcomes">,
  after: Iterable<TaskId>,
  go: (outcomes: readonly PastOutcome[]) => void,
): Promise<void> {
  const asked = new Set<TaskId>();
  const outcomes: PastOutcome[] = [];
  const ids = [...after];
  for (;;) {
    const missing = ids.filter((id) => !asked.has(id) && !reads.isLive(id));
    if (missing.length === 0) break;
    for (const id of missing) asked.add(id);
    outcomes.push(...(await reads.pastOutcomes(missing)));
  }
  go(outcomes);
}

/** The outcomes of these tasks in the engine. Unfinished tasks are left out. */
export async function outcomesIn(
  engine: Pick<Engine, "task">,
  ids: readonly TaskId[],
): Promise<readonly PastOutcome[]> {
  const outcomes: PastOutcome[] = [];
  for (const task of ids) {
    const state = (await engine.task(task))?.progress?.state;
    if (state !== undefined && state !== "waiting" && state !== "running") outcomes.push({ task, state });
  }
  return outcomes;
}
