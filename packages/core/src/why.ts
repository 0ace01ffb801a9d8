// Why a task waits, in words and as a code. Looked up, never searched for.

import type { Queue, ReadyGroup } from "./queue.js";
import type { Task } from "./task.js";
import type { Instant, WallTime } from "./time.js";
import type { QueueView, Why, WhyCode } from "./views.js";
import type { Yard } from "./yard.js";

export function whyWaiting(yard: Yard, task: Task): Why | undefined {
  if (task.state !== "waiting") return undefined;
  switch (task.place) {
    case "delayed":
      return until(yard, "delayed", "Its asker wants it to start later.", task.wake?.at);
    case "backoff":
      return until(yard, "backoff", `It is tried again after ${tries(task)}.`, task.wake?.at);
    case "recovering":
      return until(
        yard,
        "recovering",
        `It was running when the dispatcher stopped; ${task.lease?.workerId ?? "its worker"} may come back for it.`,
        yard.graceDeadline.at,
      );
    default:
      return { ...whyReady(yard, task.queue, task), until: undefined };
  }
}

/** Why tasks that could start now do not. */
function whyReady(
  yard: Yard,
  queue: Queue,
  { unfit, avoids }: Pick<ReadyGroup, "unfit" | "avoids">,
): { code: WhyCode; message: string } {
  if (yard.isClosing) return { code: "draining", message: "The dispatcher is stopping." };
  if (queue.isPaused) return { code: "paused", message: `Queue ${queue.name} is paused.` };
  let fitting = 0;
  let serving = 0;
  let draining = 0;
  let idle = 0;
  for (const pool of queue.pools.values()) {
    serving += pool.serving;
    if (unfit?.includes(pool.door)) continue;
    fitting += pool.serving;
    draining += pool.draining;
    idle += pool.idle;
  }
  if (serving === 0) return { code: "no_worker", message: `No worker serves queue ${queue.name}.` };
  if (fitting === 0) {
    return {
      code: "does_not_fit",
      message: `It does not fit the workers of ${unfit?.join(" and ")}, and there are no others.`,
    };
  }
  if (draining === fitting)
    return { code: "draining", message: `Every worker of queue ${queue.name} is being drained.` };
  if (draining + idle === fitting) {
    const others = idle === 1 ? "one that did is idle" : `${idle} that did are idle`;
    return { code: "no_worker", message: `No worker is asking for tasks of queue ${queue.name}; ${others}.` };
  }
  const others = avoids === undefined ? 0 : queue.countOthers({ unfit, avoids });
  if (others > 0) {
    const workers = others === 1 ? "the one other worker is" : `all ${others} other workers are`;
    const failedAt = avoids?.map(({ id }) => id).join(" and ");
    const state = idle === 0 ? "busy" : "busy or not asking for tasks";
    return { code: "all_busy", message: `It failed at ${failedAt}, and ${workers} ${state}.` };
  }
  return { code: "all_busy", message: allBusy(queue.name, fitting - idle, idle) };
}

function allBusy(queue: string, busy: number, idle: number): string {
  const workers = `${busy === 1 ? "The one worker" : `All ${busy} workers`} of queue ${queue}`;
  const verb = busy === 1 ? "is" : "are";
  if (idle === 0) return `${workers} ${verb} busy.`;
  return `${workers} that ${verb} asking for tasks ${verb} busy; ${idle} ${idle === 1 ? "is" : "are"} idle.`;
}

function until(yard: Yard, code: WhyCode, message: string, at: Instant | undefined): Why {
  const wall =
    at === undefined ? undefined : ((yard.now.wall + Math.max(0, at - yard.now.instant)) as WallTime);
  return { code, message, until: wall };
}

function tries(task: Task): string {
  const parts = [];
  if (task.losses > 0) parts.push(task.losses === 1 ? "1 lost attempt" : `${task.losses} lost attempts`);
  if (task.failures > 0) parts.push(task.failures === 1 ? "1 failure" : `${task.failures} failures`);
  return parts.join(" and ");
}

export function viewQueue(yard: Yard, queue: Queue): QueueView {
  const waitingBy: Partial<Record<WhyCode, number>> = {};
  if (queue.delayed > 0) waitingBy.delayed = queue.delayed;
  if (queue.backoff > 0) waitingBy.backoff = queue.backoff;
  if (queue.recovering > 0) waitingBy.recovering = queue.recovering;
  for (const group of queue.readyGroups()) {
    if (group.ready.size === 0) continue;
    const { code } = whyReady(yard, queue, group);
    waitingBy[code] = (waitingBy[code] ?? 0) + group.ready.size;
  }
  let workers = 0;
  for (const pool of queue.pools.values()) workers += pool.serving;
  return {
    name: queue.name,
    label: queue.label,
    waiting: queue.waiting,
    waitingBytes: queue.waitingBytes,
    running: queue.running,
    oldestAt: queue.oldestReady()?.head.submittedAt,
    workers,
    paused: queue.isPaused,
    draining: queue.isDraining,
    waitingBy,
  };
}
