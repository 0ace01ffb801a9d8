// What a worker's heartbeat says about it, in readable form.

import type { Heartbeat } from "./messages.js";

/** Limit, because a worker may report any number of processors. */
const processorsShownMax = 64;

/** [scaler 3.1] */
export function infoOf(heartbeat: Heartbeat): Readonly<Record<string, unknown>> {
  const { agentCpu, agentRssBytes, freeRssBytes, queuedTasks, latencyUs, hasTaskLock, processors } =
    heartbeat;
  return {
    form: heartbeat.wire,
    cpu: agentCpu / 1000,
    rssBytes: Number(agentRssBytes),
    freeBytes: Number(freeRssBytes),
    queued: queuedTasks,
    latencyUs,
    taskLock: hasTaskLock,
    processors: processors
      .slice(0, processorsShownMax)
      .map(({ pid, isInitialized, hasTask, isSuspended, cpu, rssBytes }) => ({
        ...{ pid, initialized: isInitialized, busy: hasTask, suspended: isSuspended },
        ...{ cpu: cpu / 1000, rssBytes: Number(rssBytes) },
      })),
  };
}
