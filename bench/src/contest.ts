// How benchmarks compare: contestants take turns in short runs, and a ratio is the median of the ratios of neighbouring
// runs, since what else the machine does changes slower than they take turns.

import { type PeerProcess, startPeer } from "./peers/child.js";
import { leastDisturbed } from "./stolen.js";
import { median, type Row } from "./table.js";

/**
 * A dispatcher runs for months, and its code is compiled well within seconds of load: after two, part of what is counted
 * would be compiling. The same for all, the bare loop, which has less to compile, among them.
 */
export const timing = { warmUpMs: 6000, measureMs: 2000 };

/** As the command starts a dispatcher. */
const served = ["--max-semi-space-size=64"];

export interface Figure {
  readonly perSecond: number;
  readonly cpuMicrosEach: number;
  /** Tasks that had not ended long after the load did. */
  readonly lost?: number;
  /** Of the processors' time: what the machine gave to others meanwhile. */
  readonly stolenShare?: number;
}

export interface Contest {
  readonly workerCount: number;
  /** Of the load, where it has a say in that. */
  readonly tasksUnderWay?: number;
  /** Pinned, the broker has one processor to itself and the load another: brokers then differ in cost, not in threads. */
  readonly isPinned: boolean;
  readonly load?: string;
  /** What the broker is told. */
  readonly args?: object;
  /** What the load is told besides. */
  readonly loadArgs?: object;
  /** Before anything is counted, if not as long as usual. */
  readonly warmUpMs?: number;
}

export async function forwarding(
  broker: string,
  {
    workerCount,
    tasksUnderWay,
    isPinned,
    warmUpMs = timing.warmUpMs,
    load: loadFile = "./forwarding-load.js",
    args: told = {},
    loadArgs = {},
  }: Contest,
): Promise<Figure> {
  const forwarder = startPeer(
    broker,
    { tasksUnderWay, ...told },
    { nodeOptions: served, ...(isPinned ? { core: 0 } : {}) },
  );
  const args = { ...(await forwarder.report()), workerCount, tasksUnderWay, ...loadArgs };
  const load = startPeer(loadFile, args, isPinned ? { core: 1 } : {});
  try {
    await load.report();
    load.tell({ ...timing, warmUpMs });
    await load.report();
    await cpuOf(forwarder);
    const { perSecond, tasks, lost } = (await load.report()) as {
      perSecond: number;
      tasks: number;
      lost?: number;
    };
    return {
      perSecond,
      cpuMicrosEach: (await cpuOf(forwarder)) / tasks,
      ...(lost !== undefined && { lost }),
    };
  } finally {
    await Promise.all([forwarder.stop(), load.stop()]);
  }
}

async function cpuOf(process: PeerProcess): Promise<number> {
  process.tell({});
  return (await process.report()).cpuMicros as number;
}

/** Runs the contestants in turn, several times. */
export async function compare(
  runs: number,
  contestants: ReadonlyArray<() => Promise<Figure>>,
): Promise<readonly Figure[][]> {
  const figures: Figure[][] = contestants.map(() => []);
  for (let run = 0; run < runs; run++) {
    for (const [index, contestant] of contestants.entries()) {
      const { value, stolenShare } = await leastDisturbed(contestant);
      figures[index]?.push({ ...value, stolenShare });
    }
  }
  return figures;
}

export function row(name: string, unit: string, figures: Figure[], base: Figure[], more: Row["values"]): Row {
  const ratios = figures.map((figure, run) => figure.perSecond / (base[run] as Figure).perSecond);
  return {
    name,
    values: {
      [unit]: Math.round(median(figures.map((figure) => figure.perSecond))),
      "CPU each, µs": median(figures.map((figure) => figure.cpuMicrosEach)),
      ratio: median(ratios).toFixed(2),
      "stolen %": 100 * median(figures.map((figure) => figure.stolenShare ?? 0)),
      ...more,
    },
  };
}
