// Collects starts and ends of attempts into frames for the page's stream. Beyond a maximum rate,
// whole attempts are sampled; busy times of workers stay exact. It runs only while the stream has
// listeners.

import type {
  AttemptEnd,
  Instant,
  Moment,
  SeenAttempt,
  SeenOutcome,
  SeenTask,
  WallTime,
} from "@yardmaster/core";

/** A quarter of a second at 2,000 rows per second. */
const rowsMax = 500;
/** Additional room for attempts that did not end well. */
const badRowsMax = 100;
/** Maximum number of attempts whose start was shown and whose end is still to come. */
const owedMax = 2_000;

export interface AttemptRow {
  readonly task: number;
  readonly attempt: number;
  readonly worker: string;
  readonly queue: string;
  readonly startedAt: WallTime;
  endedAt: WallTime | undefined;
  outcome: string;
  reason: string | undefined;
  readonly tries: number;
}

/** One worker at work on one queue. */
interface Cell {
  readonly worker: string;
  readonly queue: string;
  running: number;
  /** Busy milliseconds since the last call, summed over concurrent attempts. */
  slotMs: number;
  at: Instant;
}

export interface BusyRow {
  readonly worker: string;
  readonly queue: string;
  readonly running: number;
  readonly slotMs: number;
}

export interface Frame {
  readonly from: WallTime;
  readonly to: WallTime;
  readonly rows: readonly AttemptRow[];
  readonly began: number;
  readonly ended: number;
}

export class AttemptFrames {
  #rows = new Map<number, AttemptRow>();
  #badRows = 0;
  readonly #owed = new Set<number>();
  readonly #cells = new Map<string, Map<string, Cell>>();
  #from: Moment;
  #began = 0;
  #ended = 0;
  #seen = 0;
  #stride = 1;

  /** `running`: attempts that run already. */
  constructor(now: Moment, running: Iterable<SeenAttempt>) {
    this.#from = now;
    for (const { workerId, task } of running) this.#work(workerId, task.head.queue, 1, now.instant);
  }

  began(attempt: SeenAttempt, now: Moment): void {
    this.#began += 1;
    this.#work(attempt.workerId, attempt.task.head.queue, 1, now.instant);
    this.#seen += 1;
    if (this.#seen % this.#stride !== 0 || this.#rows.size >= rowsMax || this.#owed.size >= owedMax) return;
    this.#rows.set(attempt.attempt, rowOf(attempt, 1));
    this.#owed.add(attempt.attempt);
  }

  ended(attempt: SeenAttempt, how: AttemptEnd, reason: string, now: Moment): void {
    // The failure or loss is already counted in the task.
    this.#end(attempt, how, reason, how === "returned" ? 1 : 0, now);
  }

  finished(_task: SeenTask, { state, error }: SeenOutcome, by: SeenAttempt | undefined, now: Moment): void {
    if (by === undefined) return;
    const isFailed = state === "failed";
    const how = isFailed && error?.code === "poison" ? "lost" : state;
    this.#end(by, how, state === "done" ? undefined : error?.code, isFailed ? 0 : 1, now);
  }

  /** Rows of the running attempts, for a new listener. */
  runningNow(running: Iterable<SeenAttempt>): AttemptRow[] {
    const rows: AttemptRow[] = [];
    for (const attempt of running) {
      if (rows.length >= rowsMax) break;
      rows.push(rowOf(attempt, 1));
      if (this.#owed.size < owedMax) this.#owed.add(attempt.attempt);
    }
    return rows;
  }

  take(now: Moment): Frame {
    const frame = {
      from: this.#from.wall,
      to: now.wall,
      rows: [...this.#rows.values()],
      began: this.#began,
      ended: this.#ended,
    };
    this.#stride = Math.max(1, Math.ceil(Math.max(this.#began, this.#ended) / rowsMax));
    this.#rows = new Map();
    this.#badRows = 0;
    this.#from = now;
    this.#began = 0;
    this.#ended = 0;
    return frame;
  }

  /** Busy time of each worker since the last call. Idle workers are left out. */
  takeBusy(now: Instant): BusyRow[] {
    const busy: BusyRow[] = [];
    for (const [worker, queues] of this.#cells) {
      for (const [queue, cell] of queues) {
        pass(cell, now);
        const { running, slotMs } = cell;
        if (slotMs > 0) busy.push({ worker, queue, running, slotMs: Math.round(slotMs) });
        cell.slotMs = 0;
        if (running === 0) queues.delete(queue);
      }
      if (queues.size === 0) this.#cells.delete(worker);
    }
    return busy;
  }

  #end(attempt: SeenAttempt, outcome: string, reason: string | undefined, tries: 0 | 1, now: Moment): void {
    this.#ended += 1;
    this.#work(attempt.workerId, attempt.task.head.queue, -1, now.instant);
    const isOwed = this.#owed.delete(attempt.attempt);
    const known = this.#rows.get(attempt.attempt);
    const row = known ?? (isOwed || this.#hasRoomFor(outcome) ? rowOf(attempt, tries) : undefined);
    if (row === undefined) return;
    row.endedAt = now.wall;
    row.outcome = outcome;
    row.reason = reason;
    if (known === undefined) this.#rows.set(attempt.attempt, row);
  }

  #hasRoomFor(outcome: string): boolean {
    if (outcome !== "done" && this.#badRows < badRowsMax) {
      this.#badRows += 1;
      return true;
    }
    return this.#ended % this.#stride === 0 && this.#rows.size < rowsMax;
  }

  #work(worker: string, queue: string, by: 1 | -1, now: Instant): void {
    let queues = this.#cells.get(worker);
    if (queues === undefined) {
      queues = new Map();
      this.#cells.set(worker, queues);
    }
    let cell = queues.get(queue);
    if (cell === undefined) {
      cell = { worker, queue, running: 0, slotMs: 0, at: now };
      queues.set(queue, cell);
    }
    pass(cell, now);
    cell.running = Math.max(0, cell.running + by);
  }
}

function pass(cell: Cell, now: Instant): void {
  cell.slotMs += cell.running * Math.max(0, now - cell.at);
  cell.at = now;
}

/** `tries`: 0 when the end of this attempt is counted with the task already. */
function rowOf({ attempt, task, workerId, startedAt }: SeenAttempt, tries: 0 | 1): AttemptRow {
  return {
    task: task.head.id,
    attempt,
    worker: workerId,
    queue: task.head.queue,
    startedAt,
    endedAt: undefined,
    outcome: "running",
    reason: undefined,
    tries: Math.max(1, task.losses + task.failures + tries),
  };
}
