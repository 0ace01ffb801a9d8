// The core alone: what a task costs from submission to outcome, with few and many tasks waiting and few and many workers.
// Each round submits a task, and lets the worker that has been at work longest finish: the queue stays as long as it was.

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
import { type Case, median, type Row } from "./table.js";

const payload = { mediaType: "application/octet-stream", size: 200, bytes: new Uint8Array(200) };
const result = { mediaType: "application/octet-stream", size: 0, bytes: new Uint8Array(0) };
const roundsPerRun = 200_000;
/** Changes are taken once a turn; under load a turn brings this many events or more. */
const eventsPerTurn = 16;

/** What is out, oldest first, in arrays of a fixed size: the load must not add to what the collector has to do. */
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

  constructor(waiting: number, workers: number, slots: number) {
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

  /** One task in, one task out, and the one at the head of the queue given to the worker that was freed. */
  round(): void {
    this.#ms += 0.002;
    if (this.#ms - this.#now.instant > 1) this.#now = moment(this.#ms);
    this.#submit();
    this.#handle({ type: "attempt-done", ...this.#given.take(), result });
  }

  #submit(): void {
    this.#handle({ type: "task-submitted", submission: { queue: "bench", payload } });
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

const shapes = [
  { waiting: 10, workers: 10, slots: 1 },
  { waiting: 10, workers: 10_000, slots: 1 },
  { waiting: 1_000_000, workers: 10, slots: 1 },
  { waiting: 1_000_000, workers: 10_000, slots: 1 },
  { waiting: 1_000_000, workers: 10, slots: 1_000 },
];

export const core: Case = {
  name: "core",
  run(runs) {
    const figures = shapes.map(({ waiting, workers, slots }): { row: Row; us: number } => {
      const load = new Load(waiting, workers, slots);
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
    return [{ title: "core alone: submit, assign, finish (limit 3 µs a task, 2 × apart)", rows }];
  },
};
