// `yardmaster workers`: lists workers and what they do.

import type { WorkerView } from "@yardmaster/sdk";
import type { Command } from "commander";
import { ago } from "../amounts.js";
import { askYard, ending, newCommand, withYard, type YardOptions } from "../command.js";
import { printList } from "../listing.js";
import type { Column } from "../table.js";
import { paintState } from "../terminal.js";

export function workersCommand(): Command {
  const command = newCommand("workers", "list workers of every dialect", [
    { does: "all workers", line: "yardmaster workers" },
    { does: "of one queue", line: "yardmaster workers --queue render" },
    { does: "for programs", line: "yardmaster workers --json | jq -r .id" },
  ]).option("-q, --queue <name>", "that serve this queue");
  return withYard(command).action(ending(workers));
}

async function workers({ queue, ...flags }: YardOptions & { readonly queue?: string }): Promise<number> {
  return askYard(flags, async (client) => {
    const all = await client.workers();
    const items = queue === undefined ? all : all.filter(({ queues }) => queues.includes(queue));
    printList(items, workerColumns, flags, "no workers; yardmaster work makes any program one");
    return 0;
  });
}

export const workerColumns: readonly Column<WorkerView>[] = [
  { title: "WORKER", value: ({ id }) => id, isElastic: true },
  {
    title: "STATE",
    value: shownState,
    paint: ({ state }, shown) => paintState(state, shown),
  },
  { title: "RUNS", value: ({ running, slots }) => `${running}/${slots}`, align: "right" },
  { title: "SEEN", value: ({ lastSeenAt }) => ago(lastSeenAt), align: "right" },
  { title: "QUEUES", value: ({ queues }) => queues.join(", "), isElastic: true },
  { title: "ADDRESS", value: ({ address }) => address, isElastic: true },
];

/** A worker that takes nothing may say more than the state, as an unavailable udp calculator. */
function shownState({ state, slots, running, info }: WorkerView): string {
  const status = info?.status;
  const isOfOwn = (state === "idle" || state === "busy") && slots === 0 && running === 0;
  return isOfOwn && typeof status === "string" ? status : state;
}
