// A queue as people see it.

import type { QueueSettings } from "./limits.js";
import type { Queue } from "./queue.js";
import type { QueueCounts, QueueView, WhyCode } from "./views.js";
import { whyReady } from "./why.js";
import type { Yard } from "./yard.js";

export function viewQueue(yard: Yard, queue: Queue): QueueView {
  const oldest = queue.oldestReady()?.head;
  const { tally } = queue;
  const now = yard.now.instant;
  return {
    name: queue.name,
    label: queue.label,
    waiting: queue.waiting,
    waitingBytes: queue.waitingBytes,
    running: queue.running,
    depended: queue.depended,
    oldestAt: oldest?.submittedAt,
    oldestTask: oldest?.id,
    ...viewPools(queue),
    paused: queue.isPaused,
    draining: queue.isDraining,
    waitingBy: waitingBy(yard, queue),
    inPerSecond: tally.submitted.perSecond(now),
    donePerSecond: tally.done.perSecond(now),
    failedPerSecond: tally.failed.perSecond(now),
    inBy: tally.inBy.perSecond(now),
    doneBy: tally.doneBy.perSecond(now),
    pausedAt: queue.isPaused ? queue.pausedAt : undefined,
    pausedBy: queue.isPaused ? queue.pausedBy : undefined,
    refusedAt: queue.refusedAt,
    refusingSince: queue.refusingSince,
    maxWaiting: queue.settings.maxWaiting,
    groups: queue.groups.size,
    settings: queue.settings,
    overridden: Object.keys(queue.overrides ?? {}) as (keyof QueueSettings)[],
  };
}

/** Number of waiting tasks by the reason why they wait. */
function waitingBy(yard: Yard, queue: Queue): QueueView["waitingBy"] {
  const by: Partial<Record<WhyCode, number>> = {};
  if (queue.delayed > 0) by.delayed = queue.delayed;
  if (queue.backoff > 0) by.backoff = queue.backoff;
  if (queue.blocked > 0) by.blocked = queue.blocked;
  if (queue.recovering > 0) by.recovering = queue.recovering;
  for (const group of queue.readyGroups()) {
    const { size, kept } = group.ready;
    if (kept > 0) by.limited = (by.limited ?? 0) + kept;
    if (size === kept) continue;
    const { code } = whyReady(yard, queue, group, undefined);
    by[code] = (by[code] ?? 0) + size - kept;
  }
  return by;
}

function viewPools({ pools }: Queue): Pick<QueueView, "workers" | "workersBy" | "unavailable"> {
  let workers = 0;
  let unavailable = 0;
  const workersBy: Record<string, number> = {};
  for (const pool of pools.values()) {
    workers += pool.serving;
    unavailable += pool.unavailable;
    workersBy[pool.door] = pool.serving;
  }
  return { workers, workersBy, unavailable };
}

export function countQueue(queue: Queue): QueueCounts {
  const { name, waiting, running, tally } = queue;
  const oldest = queue.oldestReady()?.head;
  return { name, waiting, running, oldestAt: oldest?.submittedAt, oldestTask: oldest?.id, tally };
}
