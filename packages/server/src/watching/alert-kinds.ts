// The kinds of problems: the condition and the words of each. The thresholds are here.

import type { QueueView, WallTime } from "@yardmaster/core";
import type {
  Alert,
  DiskPace,
  Fix,
  RecentFailure,
  RecentFault,
  Severity,
  Subject,
  WorkerInSight,
  YardState,
} from "./alerts.js";
import type { LostWorker } from "./loss-log.js";
import { lossWords } from "./loss-words.js";
import { partsOf, queueName, textOf, timeOfDay, type Words, workerId, workerName } from "./sentence.js";
import { counted, duration, number, seconds, verb } from "./words.js";

/** A queue with only busy workers is behind once its oldest task waits this long. */
const behindMs = 10_000;
/** Share of its silence limit after which a worker is reported. */
const silentShare = 0.8;
/** A queue that has refused nothing for this long is no longer full. */
const refusedRecentlyMs = 60_000;
/** Share of a queue's limits from which it counts as full. */
const fullShare = 0.9;
/** Minimum number of failures of one kind in ten minutes. */
const sameErrorMin = 5;
/** Share of those on one worker from which the worker is blamed. */
const sameWorkerShare = 0.8;
/** Minimum number of one peer's mistakes of one kind in ten minutes. */
const faultsMin = 10;
const stallMsMin = 500;

interface AlertFacts {
  readonly code: string;
  readonly severity: Severity;
  readonly about: string;
  readonly words: Words;
  readonly since: WallTime | undefined;
  readonly subject: Subject;
  readonly fixes?: readonly Fix[];
}

function say({ code, severity, about, words, since, subject, fixes = [] }: AlertFacts): Alert {
  const parts = partsOf(words);
  const id = about === "" ? code : `${code}:${about}`;
  return { id, code, severity, words: textOf(parts), parts, since, subject, fixes };
}

const startWorker = (queue: string): Fix => ({ do: "start-worker", label: "Start a worker…", queue });

export function noWorker({ name, waitingBy, workers, oldestAt }: QueueView): Alert | undefined {
  const count = waitingBy.no_worker ?? 0;
  if (count === 0) return undefined;
  // Pulling workers may be connected without an open claim.
  const nobody = workers === 0 ? "no worker serves the queue" : "none of its workers asks for them";
  return say({
    code: "no_worker",
    severity: "stopped",
    about: name,
    words: [queueName(name), `: ${counted(count, "task")} ${verb(count, "wait")} and ${nobody}.`],
    since: oldestAt,
    subject: { queue: name },
    fixes: [startWorker(name)],
  });
}

export function doesNotFit({ name, waitingBy, workersBy, oldestAt }: QueueView): Alert | undefined {
  const count = waitingBy.does_not_fit ?? 0;
  if (count === 0) return undefined;
  const doors = Object.keys(workersBy);
  const isDatagram = doors.every((door) => door === "udp");
  const size = isDatagram ? "too large for a datagram" : `too large for workers of ${doors.join(" and ")}`;
  const only = isDatagram ? "only udp workers serve the queue" : "no others serve the queue";
  return say({
    code: "does_not_fit",
    severity: "stopped",
    about: name,
    words: [queueName(name), `: ${counted(count, "task")} ${verb(count, "are", "is")} ${size}, and ${only}.`],
    since: oldestAt,
    subject: { queue: name },
    fixes: [startWorker(name)],
  });
}

export function allBusy(
  { name, waitingBy, workers, unavailable, oldestAt, oldestTask }: QueueView,
  now: WallTime,
): Alert | undefined {
  if ((waitingBy.all_busy ?? 0) === 0 || oldestAt === undefined || now - oldestAt <= behindMs)
    return undefined;
  const all =
    workers === 1 ? "its one worker" : workers === 2 ? "both workers" : `all ${number(workers)} workers`;
  const are = verb(workers, "are", "is");
  const who =
    unavailable === 0
      ? `${all} ${are} busy`
      : unavailable === workers
        ? `${all} ${are} unavailable or busy with other work`
        : `${all} ${are} busy or unavailable`;
  const oldest = { text: "the oldest task", ...(oldestTask !== undefined && { task: String(oldestTask) }) };
  return say({
    code: "all_busy",
    severity: "behind",
    about: name,
    words: [queueName(name), `: ${who}; `, oldest, ` waits ${duration(now - oldestAt)}.`],
    since: (oldestAt + behindMs) as WallTime,
    subject: { queue: name },
    fixes: [startWorker(name)],
  });
}

export function fullQueue(queue: QueueView, now: WallTime): Alert | undefined {
  const { name, waiting, refusedAt, refusingSince } = queue;
  if (refusedAt === undefined || refusingSince === undefined || now - refusedAt > refusedRecentlyMs)
    return undefined;
  return say({
    code: "queue_full",
    severity: "stopped",
    about: name,
    words: isAlmostFull(queue)
      ? [
          queueName(name),
          ` is full: ${counted(waiting, "task")} ${verb(waiting, "wait")}, and new ones have been refused since `,
          timeOfDay(refusingSince),
          ".",
        ]
      : [
          queueName(name),
          " was full and refused new tasks, since ",
          timeOfDay(refusingSince),
          ` and until ${seconds(Math.max(1000, now - refusedAt))} ago; ${counted(waiting, "task")} ${verb(waiting, "wait")} now.`,
        ],
    since: refusingSince,
    subject: { queue: name },
    fixes: [{ do: "show-queue", label: "See the queue", queue: name }],
  });
}

/** A queue at its limit has room for a moment whenever a task begins. */
function isAlmostFull({ waiting, waitingBytes, settings }: QueueView): boolean {
  return waiting >= settings.maxWaiting * fullShare || waitingBytes >= settings.maxBytes * fullShare;
}

export function pausedQueue({ name, waiting, paused, pausedAt, pausedBy }: QueueView): Alert | undefined {
  if (!paused || waiting === 0) return undefined;
  const by = pausedBy === undefined ? "paused" : `paused by ${pausedBy}`;
  return say({
    code: "paused",
    severity: "behind",
    about: name,
    words: [queueName(name), `: ${by}; ${counted(waiting, "task")} ${verb(waiting, "wait")}.`],
    since: pausedAt,
    subject: { queue: name },
    fixes: [{ do: "resume-queue", label: "Resume", queue: name }],
  });
}

/** Only a worker that holds tasks is reported: the loss of an idle one harms no task. */
export function silentWorker(worker: WorkerInSight, now: WallTime): Alert | undefined {
  const { id, running, silence, state } = worker;
  if (state === "lost" || running === 0 || silence === undefined) return undefined;
  const leftMs = silence.silentAt - now;
  const silentMs = silence.limitMs - leftMs;
  if (silentMs <= silence.limitMs * silentShare) return undefined;
  return say({
    code: "silent_worker",
    severity: "behind",
    about: id,
    words: [
      workerId(id),
      `: silent for ${seconds(silentMs)}; counted as lost in ${seconds(leftMs)}. It holds ${counted(running, "task")}.`,
    ],
    since: (now - silentMs) as WallTime,
    subject: { worker: id },
    fixes: [{ do: "drain-worker", label: `Drain ${workerName(id).text}`, worker: id }],
  });
}

/** The losses of one worker, newest first: one problem, however often it came back and was lost. */
export function lostWorker(losses: readonly [LostWorker, ...LostWorker[]]): Alert {
  const [newest] = losses;
  const { id, reason } = newest;
  const name = workerName(id);
  const often = `${number(losses.length)} times in 10 min, the last time because ${lossWords(reason)}`;
  return say({
    code: "lost_worker",
    severity: "notice",
    about: id,
    words:
      losses.length === 1
        ? [name, ` was lost: ${lossWords(reason)}. `, ...becameWords(newest)]
        : [name, ` was lost ${often}.`],
    since: losses.at(-1)?.at,
    subject: { worker: id },
    fixes: [{ do: "show-worker", label: `What happened to ${name.text}`, worker: id }],
  });
}

/** The fate of the tasks that a lost worker held. */
function becameWords({ held, tasks, became }: LostWorker): Words {
  const [only] = tasks;
  if (held === 1 && only !== undefined) {
    const task = { text: "its task", task: String(only.id) };
    const Task = { text: "Its task", task: String(only.id) };
    if (only.state === "done" && only.worker !== undefined)
      return [workerName(only.worker), " ran ", task, "."];
    if (only.state === "running" && only.worker !== undefined)
      return [workerName(only.worker), " is running ", task, "."];
    if (only.state === "waiting") return [Task, " waits."];
    return [Task, only.state === "failed" ? " failed." : ` is ${only.state}.`];
  }
  const parts = [...becameVerbs].flatMap(([state, [plural, singular]]) => {
    const count = became.get(state) ?? 0;
    return count === 0 ? [] : [`${number(count)} ${verb(count, plural, singular)}`];
  });
  return [`Of its ${counted(held, "task")}, ${parts.join(", ")}.`];
}

const becameVerbs: ReadonlyMap<string, readonly [plural: string, singular: string]> = new Map([
  ["done", ["were run by others", "was run by another"]],
  ["running", ["are running elsewhere", "is running elsewhere"]],
  ["waiting", ["wait", "waits"]],
  ["failed", ["failed", "failed"]],
  ["cancelled", ["were cancelled", "was cancelled"]],
  ["expired", ["expired", "expired"]],
]);

const whatMax = 60;

function shortened(words: string): string {
  return words.length <= whatMax ? words : `${words.slice(0, whatMax - 1).trimEnd()}…`;
}

export function sameError(failure: RecentFailure, present: ReadonlySet<string>): Alert | undefined {
  const { kind, queue, code, words, count, since, worker } = failure;
  if (count < sameErrorMin) return undefined;
  // The code of a failure without one of its own says nothing.
  const what = code === "failed" && words !== "" ? shortened(words) : code;
  const isWorkers = worker !== undefined && worker.count >= count * sameWorkerShare;
  const where: Words = isWorkers
    ? [`, ${worker.count >= count ? "all" : number(worker.count)} of them on `, workerName(worker.id)]
    : [];
  const drain: Fix[] =
    isWorkers && present.has(worker.id)
      ? [{ do: "drain-worker", label: `Drain ${workerName(worker.id).text}`, worker: worker.id }]
      : [];
  return say({
    code: "same_error",
    severity: "behind",
    about: kind,
    words: [
      queueName(queue),
      `: ${counted(count, "task")} failed with the same error in 10 min (${what})`,
      ...where,
      ".",
    ],
    since,
    subject: { queue, code, kind, ...(isWorkers && { worker: worker.id }) },
    fixes: [...drain, { do: "show-failures", label: `See the ${number(count)}`, kind }],
  });
}

const messagesOf: ReadonlyMap<string, string> = new Map([
  ["udp", "datagram"],
  ["http", "request"],
]);
const faultWords: ReadonlyMap<string, string> = new Map([["not_json", "not JSON"]]);

export function faultsOf({ door, kind, peer, count, since }: RecentFault): Alert | undefined {
  if (count < faultsMin) return undefined;
  const what = counted(count, messagesOf.get(door) ?? `${door} message`);
  const wrong = faultWords.get(kind) ?? `refused (${kind})`;
  return say({
    code: "faults",
    severity: "notice",
    about: `${door}:${kind}:${peer}`,
    words: [`${what} from `, { text: peer, peer }, ` were ${wrong}.`],
    since,
    subject: { door, peer, code: kind },
    fixes: [{ do: "show-wire", label: "See them", door, peer }],
  });
}

export function slowDisk({ commitMs, usualMs, since }: DiskPace): Alert {
  const usual = usualMs === undefined ? "" : ` (normally ${duration(usualMs)})`;
  const figures = `a commit takes ${duration(commitMs)}${usual}`;
  return say({
    code: "slow_disk",
    severity: "behind",
    about: "",
    words: [`The disk is slow: ${figures}, and every acknowledgement waits for it.`],
    since,
    subject: {},
  });
}

export function stalled({ at, ms }: NonNullable<YardState["stall"]>): Alert | undefined {
  if (ms < stallMsMin) return undefined;
  return say({
    code: "stalled",
    severity: "notice",
    about: String(at),
    words: [`The dispatcher stalled for ${duration(ms)}; no worker's silence was counted.`],
    since: at,
    subject: {},
  });
}

export function undelivered({ count, since, keptMs }: YardState["undelivered"]): Alert {
  const their = count === 1 ? "its client" : "their clients";
  const stay = count === 1 ? "It stays" : "They stay";
  return say({
    code: "undelivered",
    severity: "notice",
    about: "",
    words: [
      `${counted(count, "outcome")} could not be delivered because ${their} disconnected. `,
      `${stay} readable here for up to ${duration(keptMs)}.`,
    ],
    since,
    subject: {},
  });
}

export function refusing({ reason, since }: NonNullable<YardState["refusing"]>): Alert {
  return say({
    code: "refusing",
    severity: "stopped",
    about: "",
    words: [`New tasks are refused: ${reason.replace(/\.$/, "")}.`],
    since,
    subject: {},
  });
}
