// What the dispatcher tells those who watch it: problems, figures, attempts, history, failures and
// wire messages, as the http door writes them. Times are RFC 3339 text unless a name ends in Ms.

import type { TaskState } from "./task.js";

export interface AlertPart {
  readonly text: string;
  readonly queue?: string;
  readonly worker?: string;
  readonly task?: string;
  readonly peer?: string;
  readonly time?: string;
}

export interface AlertFix {
  readonly do: string;
  readonly label: string;
  readonly queue?: string;
  readonly worker?: string;
  readonly kind?: string;
  readonly peer?: string;
  readonly door?: string;
}

export interface Alert {
  readonly id: string;
  readonly code: string;
  readonly severity: "stopped" | "behind" | "notice";
  readonly words: string;
  readonly parts: readonly AlertPart[];
  readonly since: string | null;
  readonly subject: Readonly<Record<string, string>>;
  readonly fixes: readonly AlertFix[];
}

export interface Figures {
  readonly at: string;
  readonly waiting: number;
  readonly running: number;
  readonly donePerSecond: number;
  readonly failedPerSecond: number;
  readonly inPerSecond: number;
  readonly oldestAt: string | null;
  readonly oldestTask: string | null;
  readonly oldestQueue: string | null;
  readonly queues: number;
  readonly workers: number;
  readonly workersIdle: number;
  readonly workersLost: number;
  readonly failureKinds: number;
  readonly alerts: number;
  readonly done: number;
  readonly failed: number;
  readonly startedAt: string;
}

/** The fields of a worker that change all the time. */
export interface WorkerBeat {
  readonly running: number;
  readonly done: number;
  readonly failed: number;
  readonly donePerMinute: number;
  readonly lastSeenAtMs: number;
  /** How long it may be silent; null while it owes nothing. */
  readonly limitMs: number | null;
}

export interface LostWorker {
  readonly id: string;
  readonly door: string;
  readonly address: string;
  readonly queues: readonly string[];
  readonly at: string;
  readonly reason: string;
  readonly words: string;
  readonly held: number;
  readonly backAt: string | null;
  readonly tasks: readonly LostTask[];
  readonly became: Readonly<Record<string, number>>;
}

export interface LostTask {
  readonly id: string;
  readonly queue: string;
  readonly state: TaskState;
  readonly worker: string | null;
}

/** `[task, attempt, worker, queue, start, end, outcome, reason, try]`. */
export type AttemptRow = readonly [
  task: number,
  attempt: number,
  worker: number,
  queue: number,
  start: number,
  end: number | null,
  outcome: AttemptOutcome,
  reason: string | null,
  tryNumber: number,
];

export type AttemptOutcome = "running" | "done" | "failed" | "lost" | "cancelled" | "returned";

export interface AttemptFrame {
  readonly from: number;
  readonly to: number;
  readonly workers: readonly string[];
  readonly queues: readonly string[];
  readonly rows: readonly AttemptRow[];
  /** Once a second: slot time worked from `busyFrom` to `to`; null in the frames between. */
  readonly busyFrom: number | null;
  readonly busy:
    | readonly (readonly [worker: number, queue: number, running: number, slotMs: number])[]
    | null;
  readonly began: number;
  readonly ended: number;
  readonly shown: number;
  readonly stalls: readonly (readonly [start: number, ms: number])[];
}

export interface HistorySeries {
  readonly name: string | null;
  readonly waiting: readonly (number | null)[];
  readonly running: readonly (number | null)[];
  readonly in: readonly (number | null)[];
  readonly done: readonly (number | null)[];
  readonly failed: readonly (number | null)[];
  readonly lost: readonly (number | null)[];
  readonly expired: readonly (number | null)[];
  readonly oldestMs: readonly (number | null)[];
}

export interface History {
  readonly span: string;
  readonly stepMs: number;
  readonly from: string;
  readonly to: string;
  readonly startedAt: string;
  readonly series: readonly HistorySeries[];
  readonly untracked: readonly string[];
}

export interface FailureShare {
  readonly of: string;
  readonly value: string;
  readonly count: number;
  readonly total: number;
  readonly doneShare: number;
}

export interface FailureKind {
  readonly id: string;
  readonly code: string;
  readonly queue: string;
  readonly words: string;
  readonly isExpired: boolean;
  readonly message: string;
  readonly task: string;
  readonly count: number;
  readonly firstAt: string;
  readonly lastAt: string;
  readonly isNew: boolean;
  readonly trend: readonly number[];
  readonly worker: { readonly id: string; readonly count: number } | null;
  readonly shares: readonly FailureShare[];
  readonly doneSample: number;
}

export interface Failures {
  readonly at: string;
  readonly span: string;
  readonly tasks: number;
  readonly kinds: number;
  readonly stepMs: number;
  readonly items: readonly FailureKind[];
  /** Failed tasks that were counted without a kind of their own. */
  readonly rest: number;
}

export interface WireField {
  readonly name: string;
  readonly at: number;
  readonly bytes: number;
  readonly value: string | number | null;
}

export interface WireMessage {
  readonly at: string;
  readonly door: string;
  readonly direction: "in" | "out";
  readonly side: "client" | "worker" | null;
  readonly peer: string;
  readonly address?: string;
  readonly type: string;
  readonly bytes: number;
  readonly task: string | null;
  readonly content: unknown;
  readonly data: string | null;
  readonly dataBytes?: number;
  readonly fields: readonly WireField[] | null;
  readonly fault: string | null;
}

export interface Traffic {
  readonly at: string;
  readonly items: readonly {
    readonly door: string;
    readonly direction: string;
    readonly type: string;
    readonly messages: number;
    readonly bytes: number;
  }[];
  readonly faults: readonly {
    readonly door: string;
    readonly kind: string;
    readonly count: number;
    readonly lastHour: number;
  }[];
}

/** What `?outlook=true` adds to one task. */
export interface TaskOutlook {
  /** Tasks of its queue that go before it; null when it is not ready or 1,000 or more do. */
  readonly ahead: number | null;
  readonly leaseUntil: string | null;
  readonly limitAt: string | null;
}
