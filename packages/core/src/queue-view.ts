// A queue as people see it.

import type { QueueSettings } from "./limits.js";
import type { Queue } from "./queue.js";
import type { QueueCounts, QueueView, WhyCode } from "./views.js";
import { whyReady } from "./why.js";
import type { Yard } from "./yard.js";

export function viewQueue(yard: Yard, queue: Queue): QueueView {
  const waitingBy: Partial<Record<WhyCode, number>> = {};
  if (queue.delayed > 0) waitingBy.delayed = queue.delayed;
  if (queue.backoff > 0) waitingBy.backoff = queue.backoff;
  if (queue.blocked > 0) waitingBy.blocked = queue.blocked;
  if (queue.recovering > 0) waitingBy.recovering = queue.recovering;
  for (const group of queue.readyGroups()) {
    const { size, kept } = group.ready;
    if (kept > 0) waitingBy.limited = (waitingBy.limited ?? 0) + kept;
    if (size === kept) continue;
    const { code } = whyReady(yard, queue, group, undefined);
    waitingBy[code] = (waitingBy[code] ?? 0) + size - kept;
  }
  let workers = 0;
  let unavailable = 0;
  const workersBy: Record<string, number> = {};
  for (const pool of queue.pools.values()) {
    workers += pool.serving;
    unavailable += pool.unavailable;
    workersBy[pool.door] = pool.serving;
  }
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
    workers,
    workersBy,
    unavailable,
    paused: queue.isPaused,
    draining: queue.isDraining,
    waitingBy,
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

export function countQueue(queue: Queue): QueueCounts {
  const { name, waiting, running, tally } = queue;
  const oldest = queue.oldestReady()?.head;
  return { name, waiting, running, oldestAt: oldest?.submittedAt, oldestTask: oldest?.id, tally };
}
