// The pingpong door compared with the bare forwarding loop on the same sockets, in one run, with
// the same clients and workers: the cost of core, runtime and engine.

import { compare, type Figure, forwarding, row } from "./contest.js";
import { type Case, median } from "./table.js";

const workerCount = 64;

export const pingpong: Case = {
  name: "pingpong",
  async run(runs) {
    const [bare, door] = (await compare(runs, [
      () => forwarding("./zmtp-forwarder.js", { workerCount, isPinned: false }),
      () => forwarding("./pingpong-broker.js", { workerCount, isPinned: false }),
    ])) as [Figure[], Figure[]];
    return [
      {
        title: `pingpong: ${workerCount} workers with one job each, memory engine`,
        rows: [
          row("bare zmtp forwarding", "tasks/s", bare, bare, { target: "" }),
          row("pingpong door", "tasks/s", door, bare, { target: ">= 0.75" }),
        ],
      },
    ];
  },
};

/** What rights cost: the same door with and without `access:`, in turn. */
export const pingpongRights: Case = {
  name: "pingpong-rights",
  async run(runs) {
    const contest = { workerCount, isPinned: false };
    const [without, having] = (await compare(runs, [
      () => forwarding("./pingpong-broker.js", contest),
      () => forwarding("./pingpong-broker.js", { ...contest, args: { hasAccess: true } }),
    ])) as [Figure[], Figure[]];
    const ratios = having.map(({ cpuMicrosEach }, at) => cpuMicrosEach / (without[at]?.cpuMicrosEach ?? 1));
    return [
      {
        title: "pingpong with and without access:, memory engine",
        rows: [
          row("without", "tasks/s", without, without, { target: "" }),
          row("with a principal", "tasks/s", having, without, {
            target: "<= 1.05 of processor time",
            "processor time": median(ratios),
          }),
        ],
      },
    ];
  },
};
