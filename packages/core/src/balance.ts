// Load levelling: when some workers are free while others hold tasks they have not begun, the
// newest of those tasks are recalled. A task is recalled once, and never after it has begun.

import type { Effect } from "./effects.js";
import { reposition } from "./offers.js";
import type { Queue } from "./queue.js";
import { after } from "./time.js";
import type { Worker } from "./worker.js";
import type { Yard } from "./yard.js";

/**
 * Pairs of workers examined in one pass. The rest wait for the next pass, so that a pass has a
 * fixed cost.
 */
const pairsMax = 64;

type Recall = Extract<Effect, { type: "recall" }>;

export function levelLoad(yard: Yard, queue: Queue): void {
  if (yard.isClosing || queue.isHeld) return;
  let giver = queue.givers.highest();
  let hasNamed = false;
  for (const receiver of receivers(queue)) {
    if (giver === undefined || giver.load - receiver.load < 2) break;
    const next = queue.givers.before(giver);
    if (giver.subject !== receiver.worker) {
      const recall = takeBack(yard, queue, giver.subject, Math.floor((giver.load - receiver.load) / 2));
      hasNamed ||= recall;
    }
    giver = next;
  }
  if (hasNamed && queue.givers.size > 0) {
    queue.balance = yard.armed(
      queue.balance,
      { type: "balance", queue },
      after(yard.now.instant, yard.options.balanceMs),
    );
  }
}

/** Workers that could take more, least loaded first. */
function receivers(queue: Queue): { worker: Worker; load: number }[] {
  const found: { worker: Worker; load: number }[] = [];
  for (const pool of queue.pools.values()) {
    let entry = pool.offers.lowest();
    for (let count = 0; entry !== undefined && count < pairsMax; count += 1) {
      found.push({ worker: entry.subject.worker, load: entry.load });
      entry = pool.offers.after(entry);
    }
  }
  return found.sort((one, other) => one.load - other.load).slice(0, pairsMax);
}

/**
 * A worker may set its current task aside for a more urgent one that it waits for. So a task that
 * is more urgent than every begun one counts as begun, however new it is.
 */
function lowestBegun(worker: Worker): number {
  let lowest = Number.POSITIVE_INFINITY;
  for (let lease = worker.oldest; lease?.hasBegun === true; lease = lease.newer)
    lowest = Math.min(lowest, lease.task.head.priority);
  return lowest;
}

/** Recalls the newest tasks of this queue that the worker holds and has not begun. */
function takeBack(yard: Yard, queue: Queue, worker: Worker, count: number): boolean {
  const attempts: Recall["attempts"][number][] = [];
  let left = Math.min(count, worker.unbegun);
  const highest = lowestBegun(worker);
  for (let lease = worker.newest; lease !== undefined && left > 0; lease = lease.older) {
    if (lease.hasBegun) break;
    if (lease.isRecalled || lease.isRevoked || lease.task.queue !== queue) continue;
    if (lease.task.head.priority > highest) continue;
    lease.isRecalled = true;
    worker.recalled += 1;
    left -= 1;
    attempts.push({ task: lease.task.head.id, attempt: lease.attempt });
  }
  if (attempts.length === 0) return false;
  yard.step.effects.push({ type: "recall", door: worker.door.name, worker: worker.id, attempts });
  reposition(yard, worker);
  return true;
}
