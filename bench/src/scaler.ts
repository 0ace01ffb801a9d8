// The scaler door: tasks per second with raw workers and a raw client, compared with the bare loop
// on the same socket in the same run; one task alone; and whether very many tasks, workers and
// objects make each task more expensive.

import { type Figure, row } from "./contest.js";
import { startPeer } from "./peers/child.js";
import { type Case, median, type Row } from "./table.js";

interface Setting {
  readonly scheduler: string;
  readonly workerCount: number;
  readonly slots: number;
  readonly underWay: number;
  readonly objects: number;
  readonly hasResults: boolean;
  readonly workMs: number;
  readonly isAlone: boolean;
}

interface Measured extends Figure {
  readonly p50: number;
  readonly p99: number;
}

/** The door's code takes longer to be fully compiled than a bare loop. */
const timing = { warmUpMs: 4000, measureMs: 3000 };

const door = "./scaler-scheduler.js";
const bare = "./zmtp-prefetcher.js";
const small = {
  ...{ workerCount: 4, slots: 1000, underWay: 4000, objects: 0 },
  ...{ workMs: 0, hasResults: false, isAlone: false },
};
/**
 * With `--size N`, an N-th of it, because some machines do not allow one process ten thousand
 * connections. Workers take their time: if they answered at once, no task would ever wait. So the
 * figure is the cost of a task, not the number of tasks.
 */
const large = { workerCount: 10_000, slots: 10, workMs: 3_000, underWay: 200_000, objects: 1_000_000 };

async function measure(setting: Setting): Promise<Measured> {
  const { scheduler: file, slots, isAlone, ...load } = setting;
  const scheduler = startPeer(file, { slots });
  const { address } = await scheduler.report();
  const peers = startPeer("./scaler-load.js", { address, ...load });
  const cpu = async () => {
    scheduler.tell({});
    return (await scheduler.report()).cpuMicros as number;
  };
  try {
    await peers.report();
    // Long enough for every worker to have answered.
    const measureMs = Math.max(timing.measureMs, load.workMs * 2);
    peers.tell({ ...timing, measureMs, isAlone });
    await peers.report();
    await cpu();
    const { perSecond, tasks, p50, p99 } = (await peers.report()) as Record<string, number>;
    return {
      ...{ perSecond: perSecond ?? 0, cpuMicrosEach: (await cpu()) / (tasks ?? 1) },
      ...{ p50: p50 ?? 0, p99: p99 ?? 0 },
    };
  } finally {
    await Promise.all([scheduler.stop(), peers.stop()]);
  }
}

export const scaler: Case = {
  name: "scaler",
  async run(runs, size = 1) {
    const many = {
      ...{ ...small, ...large, workerCount: large.workerCount / size },
      ...{ underWay: large.underWay / size, objects: large.objects / size },
    };
    const settings: Readonly<Record<string, Setting>> = {
      bare: { ...small, scheduler: bare },
      plain: { ...small, scheduler: door },
      bareResults: { ...small, scheduler: bare, hasResults: true },
      results: { ...small, scheduler: door, hasResults: true },
      alone: { ...small, scheduler: door, isAlone: true },
      bareMany: { ...many, scheduler: bare },
      many: { ...many, scheduler: door },
    };
    const figures = new Map<string, Measured[]>(Object.keys(settings).map((name) => [name, []]));
    for (let run = 0; run < runs; run++) {
      for (const [name, setting] of Object.entries(settings)) figures.get(name)?.push(await measure(setting));
    }
    const of = (name: string) => figures.get(name) ?? [];
    /** The cost of a task beyond that of its messages on the same number of connections. */
    const aboveBare = (name: string, base: string) =>
      median(of(name).map(({ cpuMicrosEach }, run) => cpuMicrosEach - (of(base)[run]?.cpuMicrosEach ?? 0)));
    const against = (name: string, title: string, base: string, target: string): Row =>
      row(title, "tasks/s", of(name), of(base), { target });
    const costs = (name: string, title: string, base: string | undefined): Row => ({
      name: title,
      values: {
        "CPU each, µs": median(of(name).map(({ cpuMicrosEach }) => cpuMicrosEach)),
        "above the bare loop": base === undefined ? "" : aboveBare(name, base),
        target: name === "many" ? "<= 1.25 of the small case" : "",
      },
    });
    return [
      {
        title: "scaler: 4 raw workers with a queue of 1,000, one raw client, no-op tasks, memory engine",
        rows: [
          against("bare", "bare zmtp prefetch loop", "bare", ""),
          against("plain", "scaler door", "bare", ">= 60,000 tasks/s"),
          against("bareResults", "bare loop, a result object each", "bareResults", ""),
          against("results", "scaler door, a result object each", "bareResults", ">= 40,000 tasks/s"),
        ],
      },
      {
        title: "scaler: one task alone, submit to result",
        rows: [
          {
            name: "scaler door",
            values: {
              "p50, ms": median(of("alone").map(({ p50 }) => p50)),
              "p99, ms": median(of("alone").map(({ p99 }) => p99)),
              target: "<= 0.5 and 2",
            },
          },
        ],
      },
      {
        title: `scaler: ${many.underWay - many.workerCount * many.slots} waiting tasks, ${many.workerCount} workers, ${many.objects} objects`,
        rows: [
          costs("bare", "bare loop, the small case", undefined),
          costs("bareMany", "bare loop, the large case", undefined),
          costs("plain", "scaler door, the small case", "bare"),
          costs("many", "scaler door, the large case", "bareMany"),
        ],
      },
    ];
  },
};
