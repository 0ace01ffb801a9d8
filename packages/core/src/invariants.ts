// Invariants that hold after every event. Checking walks over the whole state: always in tests,
// sampled in production.

import { unfinishedDependencies } from "./bonds.js";
import type { Group } from "./group.js";
import type { Queue } from "./queue.js";
import type { ReadyQueue } from "./ready-queue.js";
import type { Task, TaskPlace } from "./task.js";
import type { Worker } from "./worker.js";
import type { DoorPool } from "./worker-pools.js";
import type { Yard } from "./yard.js";

export function checkYard(yard: Yard): void {
  const sums = new Map<
    Queue,
    { waiting: number; bytes: number; running: number; ready: number; asleep: number }
  >();
  for (const queue of yard.queues.values())
    sums.set(queue, { waiting: 0, bytes: 0, running: 0, ready: 0, asleep: 0 });
  const untold = new Set(yard.untold);
  const sizes = [...yard.untold.doors()].map(({ size }) => size);
  same(
    sizes.reduce((sum, size) => sum + size, 0),
    untold.size,
    "tasks that are to be told",
  );
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
  checkGroups(yard);
  checkPools(yard);
  let leases = 0;
  for (const worker of yard.workers.values()) leases += checkWorker(yard, worker);
  const running = [...sums.values()].reduce((total, sum) => total + sum.running, 0);
  same(
    leases,
    running + yard.revoked.size,
    "leases held by workers against running tasks and revoked leases",
  );
}

function checkTask(yard: Yard, task: Task, untold: ReadonlySet<Task>): void {
  const { id } = task.head;
  const isReady = task.place === "ready";
  if (isReady !== (task.list !== undefined))
    fail(`task ${id} is ${task.place} but ${isReady ? "not " : ""}in a ready queue`);
  const isLeased = task.place === "leased";
  if (isLeased !== (task.state === "running")) fail(`task ${id} is ${task.state} at ${task.place}`);
  if ((task.ending !== undefined) !== hasEnded(task.place)) {
    fail(`task ${id} is at ${task.place} ${task.ending === undefined ? "without" : "with"} an outcome`);
  }
  if (isLeased) {
    const worker = task.lease?.worker;
    if (worker === undefined || worker.isGone || yard.workers.get(worker.id) !== worker)
      fail(`task ${id} is leased to nobody`);
    if (task.lease?.isRevoked === true) fail(`task ${id} is running under a revoked lease`);
  }
  checkBonds(yard, task);
  if ((task.place === "delayed" || task.place === "backoff") && task.wake?.isArmed !== true)
    fail(`task ${id} sleeps for ever`);
  if ((task.place === "recovering") !== yard.recovering.has(task))
    fail(`task ${id} is not where it recovers`);
  if (task.place === "recovering" && !yard.graceDeadline.isArmed) fail(`task ${id} recovers for ever`);
  if (task.place === "telling" && !yard.tellingEnd.isArmed) fail(`task ${id} is told for ever`);
  if ((task.place === "telling") !== untold.has(task))
    fail(`task ${id} is ${task.place} but ${task.place === "telling" ? "not " : ""}among the untold`);
}

function hasEnded(place: TaskPlace): boolean {
  return place === "telling" || place === "depended" || place === "lingering";
}

function checkBonds(yard: Yard, task: Task): void {
  const { id, relations } = task.head;
  if (task.place === "blocked") {
    const found = unfinishedDependencies(yard, task).length;
    const released = task.bonds?.unfinished ?? 0;
    // Tasks on this list have ended, and their dependents have not been told yet.
    const isExact = yard.releases.size === 0;
    if (released === 0 || (isExact && found !== released))
      fail(`task ${id} is blocked by ${found} tasks and counts ${released}`);
  }
  if (
    task.place === "depended" &&
    task.bonds?.isReleasing !== true &&
    (task.bonds?.dependents.size ?? 0) === 0
  )
    fail(`task ${id} is kept for dependents that it does not have`);
  for (const dependent of task.bonds?.dependents ?? []) {
    if (dependent.place === "gone" || hasEnded(dependent.place))
      fail(`task ${id} is kept for task ${dependent.head.id}, which has ended`);
  }
  const mayRun = task.place === "blocked" || hasEnded(task.place);
  if (relations !== undefined && !mayRun && unfinishedDependencies(yard, task).length > 0)
    fail(`task ${id} is ${task.place} before its dependencies have ended`);
}

function checkQueue(
  yard: Yard,
  queue: Queue,
  sum: { waiting: number; bytes: number; running: number; ready: number; asleep: number },
): void {
  same(queue.waiting, sum.waiting, `waiting tasks of queue ${queue.name}`);
  same(queue.waitingBytes, sum.bytes, `waiting bytes of queue ${queue.name}`);
  same(queue.running, sum.running, `running tasks of queue ${queue.name}`);
  const asleep = queue.delayed + queue.backoff + queue.recovering + queue.blocked;
  same(asleep, sum.asleep, `sleeping tasks of queue ${queue.name}`);
  let ready = 0;
  for (const group of queue.readyGroups()) ready += group.ready.size;
  same(ready, sum.ready, `ready tasks of queue ${queue.name}`);
  if (queue.bucket?.isEmpty === true && !queue.bucket.deadline.isArmed)
    fail(`queue ${queue.name} waits for a token for ever`);
  if (queue.isHeld || yard.isClosing) return;
  const next = queue.nextPlacement();
  if (next === undefined) return;
  const { task, offer } = next;
  fail(`task ${task.head.id} waits in queue ${queue.name} although ${offer.worker.id} would take it`);
}

/** Compares the groups of each queue with their tasks. */
function checkGroups(yard: Yard): void {
  const sums = new Map<Group, { active: number; ready: number; tasks: number }>();
  const kept = new Map<ReadyQueue, number>();
  for (const queue of yard.queues.values()) {
    for (const group of queue.groups) {
      sums.set(group, { active: 0, ready: 0, tasks: 0 });
      if (group.isFull !== group.active >= queue.settings.maxRunningPerGroup)
        fail(`group ${group.key} of queue ${queue.name} is ${group.isFull ? "" : "not "}full`);
    }
    for (const { ready } of queue.readyGroups()) kept.set(ready, 0);
  }
  for (const { head, place, group, ending } of yard.tasks) {
    const key = ending === undefined ? head.relations?.group : undefined;
    if (group?.key !== key) fail(`task ${head.id} of group ${key} is in group ${group?.key}`);
    if (group === undefined) continue;
    const sum = sums.get(group);
    if (sum === undefined) fail(`task ${head.id} is in group ${key}, which is not there`);
    sum.tasks += 1;
    if (place === "ready") sum.ready += 1;
    else if (place === "leased" || place === "recovering") sum.active += 1;
  }
  for (const [group, sum] of sums) {
    same(group.active, sum.active, `running tasks of group ${group.key}`);
    same(group.tasks, sum.tasks, `tasks of group ${group.key}`);
    let ready = 0;
    for (const lane of group.lanes()) {
      ready += lane.size;
      const isListed = !group.isFull && lane.size > 0;
      if ((lane.list !== undefined) !== isListed) fail(`group ${group.key} is not where it takes turns`);
      if (group.isFull) kept.set(lane.ready, (kept.get(lane.ready) ?? 0) + lane.size);
    }
    same(ready, sum.ready, `ready tasks of group ${group.key}`);
  }
  for (const [ready, sum] of kept) same(ready.kept, sum, "ready tasks of full groups");
}

/** Compares the counts of each pool with its workers. */
function checkPools(yard: Yard): void {
  const sums = new Map<DoorPool, { serving: number; draining: number; idle: number; unavailable: number }>();
  for (const queue of yard.queues.values())
    for (const pool of queue.pools.values())
      sums.set(pool, { serving: 0, draining: 0, idle: 0, unavailable: 0 });
  for (const worker of yard.workers.values()) {
    for (const queue of worker.queues) {
      const sum = sums.get(queue.pools.of(worker.door.name));
      if (sum === undefined) fail(`worker ${worker.id} serves queue ${queue.name}, which does not know it`);
      sum.serving += 1;
      if (worker.isDraining) sum.draining += 1;
      if (worker.isOfferless && worker.pulls) sum.idle += 1;
      else if (worker.isOfferless) sum.unavailable += 1;
    }
  }
  for (const [pool, sum] of sums) {
    same(pool.serving, sum.serving, `workers of ${pool.door} on a queue`);
    same(pool.draining, sum.draining, `draining workers of ${pool.door} on a queue`);
    same(pool.idle, sum.idle, `idle workers of ${pool.door} on a queue`);
    same(pool.unavailable, sum.unavailable, `unavailable workers of ${pool.door} on a queue`);
  }
}

function checkWorker(yard: Yard, worker: Worker): number {
  let held = 0;
  let begun = 0;
  let recalled = 0;
  let revoked = 0;
  for (let lease = worker.oldest; lease !== undefined; lease = lease.newer) {
    held += 1;
    if (lease.hasBegun) begun += 1;
    else if (lease.isRecalled) recalled += 1;
    if (lease.isRevoked) {
      revoked += 1;
      if (yard.revoked.get(lease.attempt) !== lease)
        fail(`attempt ${lease.attempt} is revoked but not known to be`);
    } else if (lease.task.lease !== lease || lease.task.state !== "running") {
      fail(
        `worker ${worker.id} holds attempt ${lease.attempt}, but task ${lease.task.head.id} does not know it`,
      );
    }
  }
  same(worker.held, held, `leases of worker ${worker.id}`);
  same(worker.begun, begun, `begun leases of worker ${worker.id}`);
  same(worker.recalled, recalled, `recalled leases of worker ${worker.id}`);
  same(worker.revoked, revoked, `revoked leases of worker ${worker.id}`);
  if (!worker.profile.pulls && worker.held > worker.slots && worker.profile.slots === worker.slots) {
    // A worker may hold more than its slots after it reconnects with fewer slots or resumes
    // attempts. It is then offered nothing.
    for (const offer of worker.offers)
      if (offer.entry.order !== undefined)
        fail(`worker ${worker.id} is over its slots and still offered work`);
  }
  const isFree = worker.takesWork && worker.hasFreeSlot;
  if (worker.acceptsUrgentOverflow) checkUrgency(worker);
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
