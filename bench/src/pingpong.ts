// The pingpong door against the bare forwarding loop on the same sockets, in one run, with the same clients and workers:
// what the core, the runtime and the engine cost.

import { compare, type Figure, forwarding, row } from "./contest.js";
import type { Case } from "./table.js";

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
