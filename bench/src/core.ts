// The core alone: the cost of a task from submission to outcome, with few and many waiting tasks
// and few and many workers. Each round submits a task and lets the longest-running worker finish,
// so the queue keeps its length.

import {
  type AttemptNumber,
  Dispatcher,
  defaultCoreOptions,
  type Effect,
  type Instant,
  type Moment,
  Step,
  type TaskId,
  type WallTime,
  type WorkerId,
  workerIdOf,
} from "@yardmaster/core";
import { type Case, median, type Row, type Table } from "./table.js";

const payload = { mediaType: "application/octet-stream", size: 200, bytes: new Uint8Array(200) };
const result = { mediaType: "application/octet-stream", size: 0, bytes: new Uint8Array(0) };
const roundsPerRun = 200_000;
/** Changes are taken once per turn; under load a turn brings at least this many events. */
const eventsPerTurn = 16;

/**
 * Running attempts, oldest first, in arrays of fixed size: the load must not add work for the
 * garbage collector.
 */
class Given {
  readonly #workers: WorkerId[];
  readonly #tasks: Float64Array;
  readonly #attempts: Float64Array;
  #first = 0;
  #last = 0;

  constructor(size: number) {
    this.#workers = new Array<WorkerId>(size).fill("" as WorkerId);
    this.#tasks = new Float64Array(size);
    this.#attempts = new Float64Array(size);
  }

  add(worker: WorkerId, task: TaskId, attempt: AttemptNumber): void {
    const place = this.#last % this.#workers.length;
    this.#workers[place] = worker;
    this.#tasks[place] = task;
    this.#attempts[place] = attempt;
    this.#last += 1;
  }

  take(): { worker: WorkerId; task: TaskId; attempt: AttemptNumber } {
    if (this.#first === this.#last) throw new Error("nothing is out");
    const place = this.#first % this.#workers.length;
    this.#first += 1;
    return {
      worker: this.#workers[place] as WorkerId,
      task: this.#tasks[place] as TaskId,
      attempt: this.#attempts[place] as AttemptNumber,
    };
  }
}

class Load {
  readonly #core: Dispatcher;
  readonly #given: Given;
  #number = 0;
  #ms = 0;
  #now: Moment = moment(0);
  #step = new Step();
  /** Used in turn, so that each group gets one task after the other. */
  readonly #groups: readonly string[];
  #nextGroup = 0;

  constructor({ waiting, workers, slots, groups = 0 }: Shape) {
    this.#groups = Array.from({ length: groups }, (_, index) => `customer-${index}`);
    this.#given = new Given(workers * slots + eventsPerTurn);
    this.#core = new Dispatcher(
      {
        ...defaultCoreOptions,
        random: () => 0.5,
        queueDefaults: { ...defaultCoreOptions.queueDefaults, maxWaiting: 2_000_000, maxBytes: 1e12 },
      },
      1,
      this.#now,
    );
    this.#core.begin({ lastTask: 0, lastSettled: 0 }, this.#now);
    for (let index = 0; index < workers; index += 1) this.#join(workerIdOf("bench", String(index)), slots);
    for (let index = 0; index < waiting + workers * slots; index += 1) this.#submit();
  }

  /**
   * One task in, one task out, and the task at the head of the queue goes to the worker that became
   * free.
   */
  round(): void {
    this.#ms += 0.002;
    if (this.#ms - this.#now.instant > 1) this.#now = moment(this.#ms);
    this.#submit();
    this.#handle({ type: "attempt-done", ...this.#given.take(), result });
  }

  #submit(): void {
    const group = this.#groups[this.#nextGroup];
    if (group === undefined) {
      this.#handle({ type: "task-submitted", submission: { queue: "bench", payload } });
      return;
    }
    this.#nextGroup = (this.#nextGroup + 1) % this.#groups.length;
    this.#handle({ type: "task-submitted", submission: { queue: "bench", payload, group } });
  }

  #join(worker: WorkerId, slots: number): void {
    this.#handle({
      type: "worker-joined",
      worker,
      profile: {
        dialect: "bench",
        address: "",
        queues: ["bench"],
        slots,
        runsAtOnce: 1,
        pulls: false,
        givesBack: false,
      },
    });
  }

  #handle(event: Parameters<Dispatcher["handle"]>[0]["event"]): void {
    this.#number += 1;
    this.#core.handle({ door: "bench", number: this.#number, event }, this.#now, this.#step);
    if (this.#number % eventsPerTurn !== 0) return;
    for (const effect of this.#step.takeEffects()) this.#take(effect);
    this.#step.takeChanges();
    this.#step = new Step();
  }

  #take(effect: Effect): void {
    if (effect.type === "assign") this.#given.add(effect.worker, effect.task.id, effect.attempt);
  }
}

function moment(ms: number): Moment {
  return { instant: ms as Instant, wall: (1_700_000_000_000 + ms) as WallTime };
}

function measure(load: Load): number {
  const startedAt = process.hrtime.bigint();
  for (let round = 0; round < roundsPerRun; round += 1) load.round();
  return Number(process.hrtime.bigint() - startedAt) / roundsPerRun / 1000;
}

interface Shape {
  readonly waiting: number;
  readonly workers: number;
  readonly slots: number;
  readonly groups?: number;
}

const grouped: readonly Shape[] = [
  { waiting: 100_000, workers: 10, slots: 1 },
  { waiting: 100_000, workers: 10, slots: 1, groups: 1_000 },
  { waiting: 100_000, workers: 10, slots: 1, groups: 100_000 },
];

/** The same load with and without groups, in turn. */
function compareGroups(runs: number): Table {
  const loads = grouped.map((shape) => new Load(shape));
  for (const load of loads) measure(load);
  const all = Array.from({ length: runs }, () => loads.map(measure));
  const rows = grouped.map(({ waiting, groups = 0 }, index): Row => {
    const us = median(all.map((run) => run[index] as number));
    const ratio = median(all.map((run) => (run[index] as number) / (run[0] as number)));
    const name = `${waiting.toLocaleString("en")} waiting, ${groups.toLocaleString("en")} groups`;
    return { name, values: { "µs a task": us, "× without groups": ratio } };
  });
  return { title: "core alone: groups that take turns (limit 1.5 × at 100,000 groups)", rows };
}

const shapes: readonly Shape[] = [
  { waiting: 10, workers: 10, slots: 1 },
  { waiting: 10, workers: 10_000, slots: 1 },
  { waiting: 1_000_000, workers: 10, slots: 1 },
  { waiting: 1_000_000, workers: 10_000, slots: 1 },
  { waiting: 1_000_000, workers: 10, slots: 1_000 },
];

export const core: Case = {
  name: "core",
  run(runs) {
    const figures = shapes.map((shape): { row: Row; us: number } => {
      const { waiting, workers, slots } = shape;
      const load = new Load(shape);
      measure(load);
      globalThis.gc?.();
      const us = median(Array.from({ length: runs }, () => measure(load)));
      const name = `${waiting.toLocaleString("en")} waiting, ${workers.toLocaleString("en")} workers of ${slots}`;
      return { row: { name, values: { "µs a task": us, "tasks/s": Math.round(1e6 / us) } }, us };
    });
    const fastest = Math.min(...figures.map(({ us }) => us));
    const rows = figures.map(({ row, us }) => ({
      ...row,
      values: { ...row.values, "× the fastest": us / fastest },
    }));
    return [
      { title: "core alone: submit, assign, finish (limit 3 µs a task, 2 × apart)", rows },
      compareGroups(runs),
    ];
  },
};
