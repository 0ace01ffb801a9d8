// Load levelling: when some workers are free while others hold tasks they have not begun, the
// newest of those tasks are recalled. A task is recalled once, and never after it has begun.

import type { Effect } from "./effects.js";
import type { LoadEntry } from "./load-order.js";
import { askForBalance } from "./matching.js";
import { reposition } from "./offers.js";
import type { Queue } from "./queue.js";
import type { Worker } from "./worker.js";
import type { Yard } from "./yard.js";

/** Workers that give, and workers that receive, in one pass. The rest wait for the next one. */
const workersMax = 64;

/** Tasks looked at in one pass, over all pairs of workers: about a millisecond. */
const looksMax = 100_000;

/** How many more tasks a pass may look at. */
interface Search {
  left: number;
}

type Recall = Extract<Effect, { type: "recall" }>;
type Attempts = Recall["attempts"][number][];

/** A worker that could take more. */
interface Receiver {
  readonly worker: Worker;
  readonly load: number;
  /** Number of tasks that it could take now. */
  readonly room: number;
}

export function levelLoad(yard: Yard, queue: Queue): void {
  if (yard.isClosing || queue.isHeld) return;
  let waiting = receivers(queue);
  let hasNamed = false;
  const search: Search = { left: looksMax };
  let giver = queue.givers.highest();
  for (let count = 0; count < workersMax && giver !== undefined && waiting.length > 0; count += 1) {
    const next = queue.givers.before(giver);
    const attempts: Attempts = [];
    waiting = takeFor(queue, giver, waiting, next?.load ?? 0, attempts, search);
    if (attempts.length > 0) recall(yard, giver.subject, attempts);
    hasNamed ||= attempts.length > 0;
    giver = next;
  }
  if (hasNamed) askForBalance(yard, queue);
}

/**
 * Takes tasks from one worker for each receiver in turn, until the loads are level or another
 * worker has more load. Returns the receivers for which nothing was taken.
 */
function takeFor(
  queue: Queue,
  { subject: worker, load: held }: LoadEntry<Worker>,
  waiting: readonly Receiver[],
  nextLoad: number,
  attempts: Attempts,
  search: Search,
): Receiver[] {
  return waiting.filter((receiver) => {
    const load = held - attempts.length;
    if (receiver.worker === worker || (attempts.length > 0 && load < nextLoad)) return true;
    const count = Math.min(receiver.room, Math.floor((load - receiver.load) / 2));
    return takeBack(queue, worker, receiver.worker, count, attempts, search) === 0;
  });
}

/** The least loaded first. */
function receivers(queue: Queue): Receiver[] {
  const found: Receiver[] = [];
  for (const pool of queue.pools.values()) {
    let entry = pool.offers.lowest();
    for (let count = 0; entry !== undefined && count < workersMax; count += 1) {
      const { worker, claim } = entry.subject;
      const room = claim === undefined ? worker.slots - worker.held : claim.left;
      found.push({ worker, load: entry.load, room });
      entry = pool.offers.after(entry);
    }
  }
  return found.sort((one, other) => one.load - other.load).slice(0, workersMax);
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

/**
 * Adds the newest tasks of this queue that the worker holds and has not begun, and that may fit the
 * receiver. Returns their number.
 */
function takeBack(
  queue: Queue,
  worker: Worker,
  receiver: Worker,
  count: number,
  attempts: Attempts,
  search: Search,
): number {
  const wanted = Math.min(count, worker.unbegun);
  const highest = lowestBegun(worker);
  let taken = 0;
  for (let lease = worker.newest; lease !== undefined && taken < wanted; lease = lease.older) {
    if (lease.hasBegun || search.left === 0) break;
    search.left -= 1;
    const { task } = lease;
    if (lease.isRecalled || lease.isRevoked || task.queue !== queue) continue;
    if (task.head.priority > highest) continue;
    if (task.unfit?.includes(receiver.door.name)) continue;
    lease.isRecalled = true;
    worker.recalled += 1;
    taken += 1;
    attempts.push({ task: task.head.id, attempt: lease.attempt });
  }
  return taken;
}

function recall(yard: Yard, worker: Worker, attempts: Attempts): void {
  yard.step.effects.push({ type: "recall", door: worker.door.name, worker: worker.id, attempts });
  reposition(yard, worker);
}
