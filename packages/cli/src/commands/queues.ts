// `yardmaster queues`: how queues stand; and pausing one, and letting it go on.

import type { Queue } from "@yardmaster/sdk";
import type { Command } from "commander";
import { count } from "../amounts.js";
import {
  askYard,
  ending,
  newCommand,
  print,
  printJson,
  UsageFault,
  warn,
  withYard,
  type YardOptions,
} from "../command.js";
import { type Column, tableLines } from "../table.js";
import { paintState } from "../terminal.js";

interface Flags extends YardOptions {
  readonly pause?: string;
  readonly resume?: string;
}

export function queuesCommand(): Command {
  const command = newCommand("queues", "list queues; pause one, or let it go on", [
    { does: "how they stand", line: "yardmaster queues" },
    {
      does: "give out nothing more of one, and go on later",
      line: "yardmaster queues --pause render && yardmaster queues --resume render",
    },
  ])
    .option("--pause <name>", "give out nothing of this queue; tasks are still taken in")
    .option("--resume <name>", "go on with it, whether paused or drained");
  return withYard(command).action(ending(queues));
}

async function queues({ pause, resume, ...flags }: Flags): Promise<number> {
  if (pause !== undefined && resume !== undefined)
    throw new UsageFault("--pause and --resume: give one of them");
  return askYard(flags, async (client) => {
    if (pause !== undefined) showQueues([await client.orderQueue(pause, "pause")], flags);
    else if (resume !== undefined) showQueues([await client.orderQueue(resume, "resume")], flags);
    else showQueues(await client.queues(), flags);
    return 0;
  });
}

export function showQueues(items: readonly Queue[], { json }: { readonly json?: boolean }): void {
  if (json) for (const item of items) printJson(item);
  else if (items.length === 0) warn("no queues yet; the first task makes one");
  else for (const line of tableLines(items, queueColumns)) print(line);
}

export const queueColumns: readonly Column<Queue>[] = [
  { title: "QUEUE", value: ({ name }) => name, isElastic: true },
  { title: "WAITING", value: ({ waiting }) => count(waiting), align: "right" },
  { title: "RUNNING", value: ({ running }) => count(running), align: "right" },
  { title: "IS", value: standing, paint: (queue, shown) => paintState(standing(queue), shown) },
];

function standing({ paused, draining }: Queue): string {
  if (draining) return "draining";
  return paused ? "paused" : "open";
}
