// How benchmarks compare: contestants take turns in short runs, and a ratio is the median of the
// ratios of neighbouring runs. Other load on the machine changes more slowly than they take turns.

import { type PeerProcess, startPeer } from "./peers/child.js";
import { leastDisturbed } from "./stolen.js";
import { median, type Row } from "./table.js";

/**
 * A dispatcher runs for months, and its code is compiled within seconds of load. After only two
 * seconds, compilation would be part of the measurement. The same for all, including the bare loop,
 * which has less to compile.
 */
export const timing = { warmUpMs: 6000, measureMs: 2000 };

export interface Figure {
  readonly perSecond: number;
  readonly cpuMicrosEach: number;
  /** Tasks that had not ended long after the load did. */
  readonly lost?: number;
  /** Share of processor time that the host gave to other machines meanwhile. */
  readonly stolenShare?: number;
  /** Processor time of a server that the broker uses. */
  readonly serverMicrosEach?: number;
}

export interface Contest {
  readonly workerCount: number;
  /** Number of tasks in flight, if the load controls it. */
  readonly tasksUnderWay?: number;
  /**
   * Pinned: the broker has one processor and the load another, so that brokers differ in cost and
   * not in threads.
   */
  readonly isPinned: boolean;
  readonly load?: string;
  /** Arguments of the broker. */
  readonly args?: object;
  /** Additional arguments of the load. */
  readonly loadArgs?: object;
  /** Warm-up before counting, if not the default. */
  readonly warmUpMs?: number;
  /** Processor time so far of a server that the broker uses. */
  readonly serverMicros?: () => number;
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
    serverMicros = () => 0,
  }: Contest,
): Promise<Figure> {
  const forwarder = startPeer(broker, { tasksUnderWay, ...told }, isPinned ? { core: 0 } : {});
  const args = { ...(await forwarder.report()), workerCount, tasksUnderWay, ...loadArgs };
  const load = startPeer(loadFile, args, isPinned ? { core: 1 } : {});
  try {
    await load.report();
    load.tell({ ...timing, warmUpMs });
    await load.report();
    await cpuOf(forwarder);
    const serverBefore = serverMicros();
    const { perSecond, tasks, lost } = (await load.report()) as {
      perSecond: number;
      tasks: number;
      lost?: number;
    };
    return {
      perSecond,
      cpuMicrosEach: (await cpuOf(forwarder)) / tasks,
      serverMicrosEach: (serverMicros() - serverBefore) / tasks,
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
