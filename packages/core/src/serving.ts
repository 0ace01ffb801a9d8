// Which queues a worker serves, and its place in the pools of those queues.

import { endAvoiding } from "./matching.js";
import { withdraw } from "./offers.js";
import type { Queue } from "./queue.js";
import { Offer, type Worker } from "./worker.js";
import type { Yard } from "./yard.js";

/** Makes a worker serve exactly these queues. A pulling worker makes its offers when it claims. */
export function serveQueues(yard: Yard, worker: Worker, names: readonly string[]): void {
  if (worker.profile.pulls) return;
  const wanted = new Set(names);
  for (const queue of [...worker.queues]) if (!wanted.has(queue.name)) leaveQueue(yard, worker, queue);
  for (const name of wanted) {
    const queue = yard.queue(name, worker.door, worker.host);
    if (queue === undefined) {
      yard.counters.senseless.add(worker.door.name, "worker-joined");
      continue;
    }
    if (worker.queues.includes(queue) || !joinQueue(yard, worker, queue)) continue;
    worker.offers.push(new Offer(worker, queue, queue.pools.of(worker.door.name), undefined));
  }
}

/** Makes it serve this queue as well. False if it would serve too many. */
export function joinQueue(yard: Yard, worker: Worker, queue: Queue): boolean {
  if (worker.queues.includes(queue)) return true;
  if (worker.queues.length >= yard.options.limits.queuesPerWorker) {
    yard.limitReached("queuesPerWorker");
    yard.dropIfEmpty(queue);
    return false;
  }
  worker.queues.push(queue);
  const pool = queue.pools.of(worker.door.name);
  pool.serving += 1;
  if (worker.isDraining) pool.draining += 1;
  if (worker.isOfferless) worker.countIn(pool, 1);
  return true;
}

export function leaveQueue(yard: Yard, worker: Worker, queue: Queue): void {
  worker.queues.splice(worker.queues.indexOf(queue), 1);
  for (const offer of worker.offers.filter((candidate) => candidate.queue === queue)) {
    withdraw(offer);
    worker.offers.splice(worker.offers.indexOf(offer), 1);
  }
  const pool = queue.pools.of(worker.door.name);
  pool.serving -= 1;
  if (worker.isDraining) pool.draining -= 1;
  if (worker.isOfferless) worker.countIn(pool, -1);
  if (pool.serving === 0) queue.pools.delete(pool);
  endAvoiding(yard, queue);
  yard.dropIfEmpty(queue);
}
