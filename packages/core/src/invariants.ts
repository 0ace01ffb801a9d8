// Sums that must hold after every event. A full walk over everything: always in tests, sampled in production.

import type { DoorPool, Queue } from "./queue.js";
import type { Task } from "./task.js";
import type { Worker } from "./worker.js";
import type { Yard } from "./yard.js";

export function checkYard(yard: Yard): void {
  const sums = new Map<
    Queue,
    { waiting: number; bytes: number; running: number; ready: number; asleep: number }
  >();
  for (const queue of yard.queues.values())
    sums.set(queue, { waiting: 0, bytes: 0, running: 0, ready: 0, asleep: 0 });
  const untold = new Set(yard.untold);
  same(yard.untold.size, untold.size, "tasks that are to be told");
  for (const task of yard.tasks) {
    checkTask(yard, task, untold);
    const sum = sums.get(task.queue);
    if (task.place === "lingering") continue;
    if (sum === undefined) fail(`task ${task.head.id} is in queue ${task.queue.name}, which is not there`);
    if (task.state === "waiting") {
      sum.waiting += 1;
      sum.bytes += task.head.payload.size;
      if (task.place === "ready") sum.ready += 1;
      else sum.asleep += 1;
    }
    if (task.state === "running") sum.running += 1;
  }
  for (const [queue, sum] of sums) checkQueue(yard, queue, sum);
  checkPools(yard);
  let leases = 0;
  for (const worker of yard.workers.values()) leases += checkWorker(yard, worker);
  const running = [...sums.values()].reduce((total, sum) => total + sum.running, 0);
  same(leases, running + yard.lifted.size, "leases held by workers against running tasks and lifted leases");
}

function checkTask(yard: Yard, task: Task, untold: ReadonlySet<Task>): void {
  const { id } = task.head;
  const isReady = task.place === "ready";
  if (isReady !== (task.list !== undefined))
    fail(`task ${id} is ${task.place} but ${isReady ? "not " : ""}in a ready queue`);
  const isLeased = task.place === "leased";
  if (isLeased !== (task.state === "running")) fail(`task ${id} is ${task.state} at ${task.place}`);
  if ((task.ending !== undefined) !== (task.place === "telling" || task.place === "lingering")) {
    fail(`task ${id} is at ${task.place} ${task.ending === undefined ? "without" : "with"} an outcome`);
  }
  if (isLeased) {
    const worker = task.lease?.worker;
    if (worker === undefined || worker.isGone || yard.workers.get(worker.id) !== worker)
      fail(`task ${id} is leased to nobody`);
    if (task.lease?.isLifted === true) fail(`task ${id} is running under a lifted lease`);
  }
  if ((task.place === "delayed" || task.place === "backoff") && task.wake?.isArmed !== true)
    fail(`task ${id} sleeps for ever`);
  if ((task.place === "recovering") !== yard.recovering.has(task))
    fail(`task ${id} is not where it recovers`);
  if (task.place === "recovering" && !yard.graceDeadline.isArmed) fail(`task ${id} recovers for ever`);
  if (task.place === "telling" && !yard.tellingEnd.isArmed) fail(`task ${id} is told for ever`);
  if ((task.place === "telling") !== untold.has(task))
    fail(`task ${id} is ${task.place} but ${task.place === "telling" ? "not " : ""}among the untold`);
}

function checkQueue(
  yard: Yard,
  queue: Queue,
  sum: { waiting: number; bytes: number; running: number; ready: number; asleep: number },
): void {
  same(queue.waiting, sum.waiting, `waiting tasks of queue ${queue.name}`);
  same(queue.waitingBytes, sum.bytes, `waiting bytes of queue ${queue.name}`);
  same(queue.running, sum.running, `running tasks of queue ${queue.name}`);
  same(queue.delayed + queue.backoff + queue.recovering, sum.asleep, `sleeping tasks of queue ${queue.name}`);
  let ready = 0;
  for (const group of queue.readyGroups()) ready += group.ready.size;
  same(ready, sum.ready, `ready tasks of queue ${queue.name}`);
  if (queue.isPaused || yard.isClosing) return;
  const next = queue.nextPlacement();
  if (next === undefined) return;
  const { task, offer } = next;
  fail(`task ${task.head.id} waits in queue ${queue.name} although ${offer.worker.id} would take it`);
}

/** What each pool says of its workers against the workers themselves. */
function checkPools(yard: Yard): void {
  const sums = new Map<DoorPool, { serving: number; draining: number; idle: number }>();
  for (const queue of yard.queues.values())
    for (const pool of queue.pools.values()) sums.set(pool, { serving: 0, draining: 0, idle: 0 });
  for (const worker of yard.workers.values()) {
    for (const queue of worker.queues) {
      const sum = sums.get(queue.pool(worker.door.name));
      if (sum === undefined) fail(`worker ${worker.id} serves queue ${queue.name}, which does not know it`);
      sum.serving += 1;
      if (worker.isDraining) sum.draining += 1;
      if (worker.isIdlePuller) sum.idle += 1;
    }
  }
  for (const [pool, sum] of sums) {
    same(pool.serving, sum.serving, `workers of ${pool.door} on a queue`);
    same(pool.draining, sum.draining, `draining workers of ${pool.door} on a queue`);
    same(pool.idle, sum.idle, `idle workers of ${pool.door} on a queue`);
  }
}

function checkWorker(yard: Yard, worker: Worker): number {
  let held = 0;
  let begun = 0;
  let recalled = 0;
  let lifted = 0;
  for (let lease = worker.oldest; lease !== undefined; lease = lease.newer) {
    held += 1;
    if (lease.hasBegun) begun += 1;
    else if (lease.isRecalled) recalled += 1;
    if (lease.isLifted) {
      lifted += 1;
      if (yard.lifted.get(lease.attempt) !== lease)
        fail(`attempt ${lease.attempt} is lifted but not known to be`);
    } else if (lease.task.lease !== lease || lease.task.state !== "running") {
      fail(
        `worker ${worker.id} holds attempt ${lease.attempt}, but task ${lease.task.head.id} does not know it`,
      );
    }
  }
  same(worker.held, held, `leases of worker ${worker.id}`);
  same(worker.begun, begun, `begun leases of worker ${worker.id}`);
  same(worker.recalled, recalled, `recalled leases of worker ${worker.id}`);
  same(worker.lifted, lifted, `lifted leases of worker ${worker.id}`);
  if (!worker.profile.pulls && worker.held > worker.slots && worker.profile.slots === worker.slots) {
    // A worker that came back with fewer slots, or for what it held, may hold more for a while; it is offered nothing.
    for (const offer of worker.offers)
      if (offer.entry.order !== undefined)
        fail(`worker ${worker.id} is over its slots and still offered work`);
  }
  const isFree = worker.takesWork && worker.hasFreeSlot;
  if (worker.passesLimit) checkUrgency(worker);
  for (const offer of worker.offers) {
    const isOffered = offer.entry.order !== undefined;
    if (isOffered !== (isFree && offer.claim?.left !== 0))
      fail(`worker ${worker.id} is ${isFree ? "free" : "not free"} and ${isOffered ? "" : "not "}offered`);
    if (isOffered)
      same(offer.entry.load, worker.held, `load of worker ${worker.id} in queue ${offer.queue.name}`);
  }
  return held;
}

function checkUrgency(worker: Worker): void {
  let urgency = Number.NEGATIVE_INFINITY;
  for (let lease = worker.oldest; lease !== undefined; lease = lease.newer)
    urgency = Math.max(urgency, lease.task.head.priority);
  same(worker.urgency, urgency, `most urgent priority of worker ${worker.id}`);
  for (const { urgent } of worker.offers) {
    const isFull = worker.takesWork && !worker.hasFreeSlot;
    if ((urgent?.order !== undefined) !== isFull)
      fail(
        `worker ${worker.id} is ${isFull ? "" : "not "}full and ${isFull ? "not " : ""}there for the urgent`,
      );
    if (isFull)
      same(urgent?.list?.priority ?? Number.NaN, urgency, `place of worker ${worker.id} among the full`);
  }
}

function same(found: number, expected: number, what: string): void {
  if (found !== expected) fail(`${what}: ${found} counted, ${expected} found`);
}

function fail(message: string): never {
  throw new Error(`invariant broken: ${message}`);
}
