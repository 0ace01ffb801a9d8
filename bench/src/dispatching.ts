// Contests of dispatchers with many workers: the same load on each, and the same dispatcher with
// few workers and with ten thousand.

import { compare, type Figure, forwarding, row } from "./contest.js";
import { median, type Table } from "./table.js";

export interface Dispatching {
  readonly dialect: string;
  readonly bare: string;
  readonly door: string;
  readonly load: string;
}

const workerCount = 64;
const few = 10;
const many = 10_000;

export async function dispatching(
  runs: number,
  { dialect, bare, door, load }: Dispatching,
): Promise<Table[]> {
  const run = (broker: string, workers: number, tasksUnderWay: number) => () =>
    forwarding(broker, { workerCount: workers, tasksUnderWay, load, isPinned: true });
  const [bareFigures, doorFigures] = (await compare(runs, [
    run(bare, workerCount, 2 * workerCount),
    run(door, workerCount, 2 * workerCount),
  ])) as [Figure[], Figure[]];
  const [fewFigures, manyFigures] = (await compare(runs, [run(door, few, few), run(door, many, few)])) as [
    Figure[],
    Figure[],
  ];
  const lost = (figures: readonly Figure[]) => figures.reduce((sum, figure) => sum + (figure.lost ?? 0), 0);
  const cost = (figures: Figure[], base: Figure[], target: string) => ({
    lost: lost(figures),
    target,
    ...costRatio(figures, base),
  });
  return [
    {
      title: `${dialect}: ${workerCount} workers, memory engine, a processor each for the dispatcher and the load`,
      rows: [
        row("bare Node loop", "tasks/s", bareFigures, bareFigures, cost(bareFigures, bareFigures, "")),
        row(
          `${dialect} door`,
          "tasks/s",
          doorFigures,
          bareFigures,
          cost(doorFigures, bareFigures, ">= 0.7, 0 lost"),
        ),
      ],
    },
    {
      title: `${dialect}: registered workers, ${few} tasks under way`,
      rows: [
        row(`${few} workers`, "tasks/s", fewFigures, fewFigures, cost(fewFigures, fewFigures, "")),
        row(
          `${many} workers`,
          "tasks/s",
          manyFigures,
          fewFigures,
          cost(manyFigures, fewFigures, "CPU <= 1.25"),
        ),
      ],
    },
  ];
}

/** The cost of a task for the dispatcher itself, without the cost of the load. */
function costRatio(figures: readonly Figure[], base: readonly Figure[]): { readonly "CPU ratio": string } {
  const ratios = figures.map((figure, run) => figure.cpuMicrosEach / (base[run] as Figure).cpuMicrosEach);
  return { "CPU ratio": median(ratios).toFixed(2) };
}
