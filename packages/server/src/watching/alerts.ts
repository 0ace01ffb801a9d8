// Computes problems from the state of the yard, in the same words for the page, `top` and the API.
// Pure: state in, alerts out. It looks at queues and workers, never at tasks.

import type { QueueView, WallTime, WorkerView } from "@yardmaster/core";
import {
  allBusy,
  doesNotFit,
  faultsOf,
  fullQueue,
  lostWorker,
  noWorker,
  pausedQueue,
  refusing,
  sameError,
  silentWorker,
  slowDisk,
  stalled,
  undelivered,
} from "./alert-kinds.js";
import type { LostWorker } from "./loss-log.js";
import type { Part } from "./sentence.js";

export type Severity = "stopped" | "behind" | "notice";

/** A remedy that the page offers. */
export interface Fix {
  readonly do:
    | "start-worker"
    | "drain-worker"
    | "resume-queue"
    | "show-queue"
    | "show-worker"
    | "show-failures"
    | "show-wire";
  readonly label: string;
  readonly queue?: string;
  readonly worker?: string;
  readonly kind?: string;
  readonly peer?: string;
  readonly door?: string;
}

export interface Subject {
  readonly queue?: string;
  readonly worker?: string;
  readonly door?: string;
  readonly peer?: string;
  readonly code?: string;
  readonly kind?: string;
}

export interface Alert {
  /** Stays the same while the problem lasts. */
  readonly id: string;
  readonly code: string;
  readonly severity: Severity;
  readonly words: string;
  readonly parts: readonly Part[];
  /** Unknown for a problem that began before this process. */
  readonly since: WallTime | undefined;
  readonly subject: Subject;
  readonly fixes: readonly Fix[];
}

/** How long a worker may be silent, and until when; absent while it owes no sign of life. */
export interface Silence {
  readonly limitMs: number;
  readonly silentAt: WallTime;
}

export interface WorkerInSight extends WorkerView {
  readonly silence: Silence | undefined;
}

/**
 * A kind of failure, with its count in the last ten minutes and the worker that had most of them.
 */
export interface RecentFailure {
  readonly kind: string;
  readonly queue: string;
  readonly code: string;
  /** What the messages of the kind have in common. */
  readonly words: string;
  readonly count: number;
  readonly since: WallTime;
  readonly worker: { readonly id: string; readonly count: number } | undefined;
}

export interface RecentFault {
  readonly door: string;
  readonly kind: string;
  readonly peer: string;
  readonly count: number;
  readonly since: WallTime;
}

export interface DiskPace {
  readonly commitMs: number;
  /** Unknown in the first seconds. */
  readonly usualMs: number | undefined;
  readonly since: WallTime;
}

/** The state that alerts are computed from. */
export interface YardState {
  readonly now: WallTime;
  readonly queues: readonly QueueView[];
  readonly workers: readonly WorkerInSight[];
  /** Workers lost in the last ten minutes, newest first. */
  readonly lost: readonly LostWorker[];
  readonly failures: readonly RecentFailure[];
  readonly faults: readonly RecentFault[];
  /** Absent while commits are as fast as usual. */
  readonly slowDisk: DiskPace | undefined;
  /** The longest stall of the last minutes. */
  readonly stall: { readonly at: WallTime; readonly ms: number } | undefined;
  readonly undelivered: { readonly count: number; readonly since: WallTime; readonly keptMs: number };
  /** Why all new tasks are refused. */
  readonly refusing: { readonly reason: string; readonly since: WallTime | undefined } | undefined;
}

/** People do not read a longer list. The rest is counted. */
export const alertsMax = 100;

export interface AlertList {
  readonly items: readonly Alert[];
  readonly more: number;
}

/** Worst first, then longest. */
export function alertsOf(state: YardState): AlertList {
  const all = [...found(state)].sort(compareAlerts);
  return { items: all.slice(0, alertsMax), more: Math.max(0, all.length - alertsMax) };
}

function* found(state: YardState): Generator<Alert> {
  for (const queue of state.queues) {
    for (const of of ofQueue) {
      const alert = of(queue, state.now);
      if (alert !== undefined) yield alert;
    }
  }
  const present = new Set<string>();
  for (const worker of state.workers) {
    if (worker.state !== "lost") present.add(worker.id);
    const alert = silentWorker(worker, state.now);
    if (alert !== undefined) yield alert;
  }
  for (const losses of lossesByWorker(state.lost)) yield lostWorker(losses);
  for (const failure of state.failures) yield* some(sameError(failure, present));
  for (const fault of state.faults) yield* some(faultsOf(fault));
  if (state.slowDisk !== undefined) yield slowDisk(state.slowDisk);
  if (state.stall !== undefined) yield* some(stalled(state.stall));
  if (state.undelivered.count > 0) yield undelivered(state.undelivered);
  if (state.refusing !== undefined) yield refusing(state.refusing);
}

/** Of workers that held tasks: the loss of an idle one harms none. */
function lossesByWorker(lost: readonly LostWorker[]): Iterable<[LostWorker, ...LostWorker[]]> {
  const byWorker = new Map<string, [LostWorker, ...LostWorker[]]>();
  for (const loss of lost) {
    if (loss.held === 0) continue;
    const losses = byWorker.get(loss.id);
    if (losses === undefined) byWorker.set(loss.id, [loss]);
    else losses.push(loss);
  }
  return byWorker.values();
}

const ofQueue = [noWorker, doesNotFit, fullQueue, allBusy, pausedQueue] as const;

function* some(alert: Alert | undefined): Generator<Alert> {
  if (alert !== undefined) yield alert;
}

const ranks: ReadonlyMap<Severity, number> = new Map([
  ["stopped", 0],
  ["behind", 1],
  ["notice", 2],
]);

function compareAlerts(one: Alert, other: Alert): number {
  const bySeverity = (ranks.get(one.severity) ?? 0) - (ranks.get(other.severity) ?? 0);
  if (bySeverity !== 0) return bySeverity;
  return (one.since ?? 0) - (other.since ?? 0) || (one.id < other.id ? -1 : 1);
}
