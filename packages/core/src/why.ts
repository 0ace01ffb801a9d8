// Why a task waits, as a code and in words, and what else is known of a live task: how many are
// ahead of it, and its deadlines. Every reason is looked up, never searched for.

import { unfinishedDependencies } from "./bonds.js";
import type { Group } from "./group.js";
import type { Queue } from "./queue.js";
import type { Restriction } from "./restricted-tasks.js";
import type { Task } from "./task.js";
import { type Instant, type Moment, type WallTime, wallOf } from "./time.js";
import type { TaskOutlook, Why, WhyCode } from "./views.js";
import type { Yard } from "./yard.js";

export function whyWaiting(yard: Yard, task: Task): Why | undefined {
  if (task.state !== "waiting") return undefined;
  switch (task.place) {
    case "delayed":
      return until(yard, "delayed", "Its client asked for a later start.", task.wake?.at);
    case "backoff":
      return until(yard, "backoff", `It waits before its next attempt, after ${tries(task)}.`, task.wake?.at);
    case "blocked":
      return { code: "blocked", message: whyBlocked(yard, task), until: undefined };
    case "recovering":
      return until(
        yard,
        "recovering",
        `It was running when the dispatcher stopped; ${task.lease?.workerId ?? "its worker"} may come back for it.`,
        yard.graceDeadline.at,
      );
    default:
      return whyReady(yard, task.queue, task, task.group);
  }
}

/** Ids named in words; a task may wait for more. */
const idsShown = 10;

function whyBlocked(yard: Yard, task: Task): string {
  const waitsFor = unfinishedDependencies(yard, task);
  const shown = waitsFor.slice(0, idsShown).join(", ");
  const more = waitsFor.length > idsShown ? ` and ${waitsFor.length - idsShown} more` : "";
  const all = task.head.relations?.after.length ?? 0;
  return `It waits for ${waitsFor.length} of ${all} ${all === 1 ? "task" : "tasks"}: ${shown}${more}.`;
}

/** Why ready tasks are not assigned. */
export function whyReady(
  yard: Yard,
  queue: Queue,
  { unfit, avoids }: Restriction,
  group: Group | undefined,
): Why {
  if (yard.isClosing) return because("draining", "The dispatcher is stopping.");
  if (queue.isPaused) return because("paused", `Queue ${queue.name} is paused.`);
  let fitting = 0;
  let serving = 0;
  let draining = 0;
  let idle = 0;
  let unavailable = 0;
  for (const pool of queue.pools.values()) {
    serving += pool.serving;
    if (unfit?.includes(pool.door)) continue;
    fitting += pool.serving;
    draining += pool.draining;
    idle += pool.idle;
    unavailable += pool.unavailable;
  }
  if (serving === 0) return because("no_worker", `No worker serves queue ${queue.name}.`);
  const misfit = `It does not fit the workers of ${unfit?.join(" and ")}`;
  if (fitting === 0) return because("does_not_fit", `${misfit}, and there are no others.`);
  const limited = whyLimited(yard, queue, group);
  if (limited !== undefined) return limited;
  const pools = { fitting, draining, idle, unavailable };
  if (fitting === serving) return whyNoneTakes(queue, { unfit, avoids }, { ...pools, other: "" });
  const why = whyNoneTakes(queue, { unfit, avoids }, { ...pools, other: "other " });
  return { ...why, message: `${misfit}. ${why.message}` };
}

interface Fitting {
  readonly fitting: number;
  readonly draining: number;
  readonly idle: number;
  readonly unavailable: number;
  /** "other " if workers that the task does not fit are named before. */
  readonly other: string;
}

/** Why none of the workers that the task fits takes it. */
function whyNoneTakes(
  queue: Queue,
  { unfit, avoids }: Restriction,
  { fitting, draining, idle, unavailable, other }: Fitting,
): Why {
  const { name } = queue;
  if (draining === fitting)
    return because("draining", `Every ${other}worker of queue ${name} is being drained.`);
  if (draining + idle === fitting) {
    const others = idle === 1 ? "one that did is idle" : `${idle} that did are idle`;
    return because("no_worker", `No ${other}worker is asking for tasks of queue ${name}; ${others}.`);
  }
  const others = avoids === undefined ? 0 : queue.countOthers({ unfit, avoids });
  if (others > 0) {
    const workers = others === 1 ? "the one other worker is" : `all ${others} other workers are`;
    const failedAt = avoids?.map(({ id }) => id).join(" and ");
    const state = idle === 0 ? "busy" : "busy or not asking for tasks";
    return because("all_busy", `It failed on ${failedAt}, and ${workers} ${state}.`);
  }
  if (unavailable > 0) {
    const busy = fitting - draining - idle - unavailable;
    return because("all_busy", noneFree(name, { busy, draining, idle, unavailable, other }));
  }
  return because("all_busy", allBusy(name, { busy: fitting - idle, idle, other }));
}

function because(code: WhyCode, message: string): Why {
  return { code, message, until: undefined };
}

/** The limit that keeps ready tasks waiting. Only a rate limit can say until when. */
function whyLimited(yard: Yard, queue: Queue, group: Group | undefined): Why | undefined {
  const { maxRunning, maxRunningPerGroup } = queue.settings;
  const end = "The next starts when one ends.";
  if (queue.isFull) {
    const running = queue.running + queue.recovering;
    const message = `Queue ${queue.name} runs ${counted(running)}, and its maxRunning is ${maxRunning}. ${end}`;
    return because("limited", message);
  }
  if (group?.isFull === true) {
    const limit = `the maxRunningPerGroup of queue ${queue.name} is ${maxRunningPerGroup}`;
    return because("limited", `Group ${group.key} runs ${counted(group.active)}, and ${limit}. ${end}`);
  }
  const { bucket } = queue;
  if (bucket?.isEmpty !== true) return undefined;
  const { tasks, perMs } = bucket.rate;
  const rate = `${counted(tasks)} in ${perMs / 1000} s`;
  return until(yard, "limited", `The rate of queue ${queue.name} is ${rate}.`, bucket.nextAt);
}

interface Busy {
  readonly busy: number;
  readonly idle: number;
  readonly other: string;
}

function allBusy(queue: string, { busy, idle, other }: Busy): string {
  const workers = `${allOf(busy, other)} of queue ${queue}`;
  const verb = busy === 1 ? "is" : "are";
  if (idle === 0) return `${workers} ${verb} busy.`;
  return `${workers} that ${verb} asking for tasks ${verb} busy; ${idle} ${idle === 1 ? "is" : "are"} idle.`;
}

/** Some workers take nothing. Which of the two reasons applies is not known here. */
function noneFree(
  queue: string,
  { busy, draining, idle, unavailable, other }: Busy & Pick<Fitting, "draining" | "unavailable">,
): string {
  const take = unavailable === 1 ? "takes no tasks now: it is" : "take no tasks now: they are";
  const closed = `${take} unavailable, or busy with other work.`;
  const others = [
    [busy, "busy"],
    [draining, "draining"],
    [idle, "not asking for tasks"],
  ] as const;
  const words = others.flatMap(([many, word]) =>
    many > 0 ? [`${many} ${many === 1 ? "is" : "are"} ${word}`] : [],
  );
  if (words.length === 0) return `${allOf(unavailable, other)} of queue ${queue} ${closed}`;
  const all = busy + draining + idle + unavailable;
  return `Of the ${all} ${other}workers of queue ${queue}, ${words.join(", ")} and ${unavailable} ${closed}`;
}

function allOf(workers: number, other: string): string {
  if (workers === 1) return `The one ${other}worker`;
  return workers === 2 ? `Both ${other}workers` : `All ${workers} ${other}workers`;
}

function counted(tasks: number): string {
  return tasks === 1 ? "1 task" : `${tasks} tasks`;
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

/** Tasks ahead are counted up to this number: a greater exact number tells people little more. */
const aheadMax = 1_000;

export function viewOutlook(task: Task | undefined, now: Moment): TaskOutlook {
  if (task === undefined) return { ahead: undefined, leaseUntil: undefined, limitAt: undefined };
  const isLimited = task.state === "running" && task.lease?.hasAnswered === false;
  const lease = isLimited ? task.lease : undefined;
  return {
    ahead: tasksAhead(task),
    leaseUntil: wallOf(lease?.leaseUntil, now),
    limitAt: wallOf(lease?.limitAt, now),
  };
}

/**
 * Number of tasks of its queue before a ready one; undefined if it is not ready, or there are too
 * many.
 */
function tasksAhead(task: Task): number | undefined {
  const { list } = task;
  // Groups take turns, so the tasks ahead of this one are not known.
  if (list === undefined || task.place !== "ready" || task.queue.groups.size > 0) return undefined;
  let ahead = list.owner.countAbove(list.priority, aheadMax);
  for (let other = task.previous; other !== undefined && ahead < aheadMax; other = other.previous) ahead += 1;
  return ahead < aheadMax ? ahead : undefined;
}
