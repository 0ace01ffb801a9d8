// The http door: one task per request compared with a bare fastify route, many tasks per request,
// the whole life of tasks, and the cost of metrics.

import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { compare, type Figure, row, timing } from "./contest.js";
import { fsyncMs, inFolder } from "./folders.js";
import { cycle } from "./http-cycle.js";
import { startPeer } from "./peers/child.js";
import { type Case, median, type Table } from "./table.js";

const connections = 64;
const batchSize = 1_000;

export const http: Case = {
  name: "http",
  run: (runs, size) =>
    inFolder(async (folder) => {
      const lives = await cycle(runs, folder, size);
      const [bare, single, many, singleSafe, manySafe] = (await compare(runs, [
        () => measure("./http-bare.js", 1),
        () => measure("./http-yard.js", 1, { engine: "memory" }),
        () => measure("./http-yard.js", batchSize, { engine: "memory" }),
        () => measure("./http-yard.js", 1, { engine: "embedded", data: newFolder(folder) }),
        () => measure("./http-yard.js", batchSize, { engine: "embedded", data: newFolder(folder) }),
      ])) as [Figure[], Figure[], Figure[], Figure[], Figure[]];
      const disk = { "fsync p50 ms": fsyncMs(folder) };
      const inBatches = { target: ">= 100,000 tasks/s" };
      return [
        {
          title: `http: ${connections} connections that stay open, nobody working`,
          rows: [
            row("bare fastify route, 201", "tasks/s", bare, bare, { target: "" }),
            row("one task a request, memory", "tasks/s", single, bare, { target: ">= 0.6" }),
            row(`batches of ${batchSize}, memory`, "tasks/s", many, bare, inBatches),
            row("one task a request, fsync", "tasks/s", singleSafe, bare, { target: "", ...disk }),
            row(`batches of ${batchSize}, fsync`, "tasks/s", manySafe, bare, { ...inBatches, ...disk }),
          ],
        },
        ...lives,
        await metricsCost(runs),
      ];
    }),
};

function newFolder(folder: string): string {
  return mkdtempSync(join(folder, "data-"));
}

/** What rights cost: the same load with and without `access:`. */
export const rights: Case = {
  name: "rights",
  run: async (runs) => {
    const tables: Table[] = [];
    for (const tasks of [1, batchSize]) {
      const [without, having] = (await compare(runs, [
        () => measure("./http-yard.js", tasks, { engine: "memory" }),
        () => measure("./http-yard.js", tasks, { engine: "memory", hasAccess: true }),
      ])) as [Figure[], Figure[]];
      const ratios = having.map(({ cpuMicrosEach }, at) => cpuMicrosEach / (without[at]?.cpuMicrosEach ?? 1));
      const cost = { "processor time": median(ratios) };
      tables.push({
        title: `http with and without access:, ${tasks} a request`,
        rows: [
          row("without", "tasks/s", without, without, { target: "" }),
          row("a hundred principals", "tasks/s", having, without, {
            target: "<= 1.05 of processor time",
            ...cost,
          }),
        ],
      });
    }
    return tables;
  },
};

async function measure(
  file: string,
  tasks: number,
  args: { readonly hasAccess?: boolean } & Readonly<Record<string, unknown>> = {},
): Promise<Figure> {
  const server = startPeer(file, args);
  const { address } = await server.report();
  // A batch keeps the server busy by itself, so a few at once are as good as many.
  const load = startPeer("./http-load.js", {
    address,
    connections: tasks === 1 ? connections : 4,
    tasks,
    hasAccess: args.hasAccess ?? false,
  });
  try {
    load.tell(timing);
    await load.report();
    server.tell({});
    await server.report();
    const { perSecond, tasks: done } = (await load.report()) as { perSecond: number; tasks: number };
    server.tell({});
    const { cpuMicros } = await server.report();
    return { perSecond, cpuMicrosEach: (cpuMicros as number) / done };
  } finally {
    await Promise.all([server.stop(), load.stop()]);
  }
}

async function metricsCost(runs: number): Promise<Table> {
  const rounds = Math.max(5, runs);
  const count = async (isWatched: boolean) => {
    const nodeOptions = ["--expose-gc", "--max-semi-space-size=256", "--min-semi-space-size=256"];
    const peer = startPeer("./metrics-cost.js", { isWatched, rounds, tasks: 1_000 }, { nodeOptions });
    try {
      const { figures } = (await peer.report()) as { figures: { bytes: number; timers: number }[] };
      return {
        "bytes allocated": median(figures.map(({ bytes }) => bytes)),
        "timers set": median(figures.map(({ timers }) => timers)),
      };
    } finally {
      await peer.stop();
    }
  };
  return {
    title: "what metrics cost, per 1,000 tasks in and out",
    rows: [
      { name: "without", values: await count(false) },
      { name: "with", values: await count(true) },
    ],
  };
}
