// `yardmaster queues`: shows queues, and pauses or resumes one.

import { type HttpClient, type Queue, type QueueOrder, YardError } from "@yardmaster/sdk";
import type { Command } from "commander";
import { count } from "../amounts.js";
import {
  askYard,
  CommandFault,
  ending,
  newCommand,
  UsageFault,
  withYard,
  type YardOptions,
} from "../command.js";
import { printList } from "../listing.js";
import type { Column } from "../table.js";
import { paintState } from "../terminal.js";

interface Flags extends YardOptions {
  readonly pause?: string;
  readonly resume?: string;
  readonly create?: boolean;
}

export function queuesCommand(): Command {
  const command = newCommand("queues", "list queues; pause or resume one", [
    { does: "all queues", line: "yardmaster queues" },
    {
      does: "pause one, and resume it later",
      line: "yardmaster queues --pause render && yardmaster queues --resume render",
    },
  ])
    .option("--pause <name>", "assign no tasks of this queue; new ones are still accepted")
    .option("--resume <name>", "resume this queue after a pause or a drain")
    .option("--create", "with --pause: create the queue if it does not exist");
  return withYard(command).action(ending(queues));
}

async function queues({ pause, resume, create, ...flags }: Flags): Promise<number> {
  if (pause !== undefined && resume !== undefined)
    throw new UsageFault("--pause and --resume: give one of them");
  return askYard(flags, async (client) => {
    if (pause !== undefined) showQueues([await orderQueue(client, pause, "pause", create)], flags);
    else if (resume !== undefined) showQueues([await orderQueue(client, resume, "resume")], flags);
    else showQueues(await client.queues(), flags);
    return 0;
  });
}

/** An unknown queue counts as a typo, unless --create is given. */
export async function orderQueue(
  client: HttpClient,
  queue: string,
  order: QueueOrder,
  create = false,
): Promise<Queue> {
  try {
    return await client.orderQueue(queue, order, { create });
  } catch (fault) {
    if (!(fault instanceof YardError && fault.code === "not_found")) throw fault;
    const advice = order === "resume" ? "" : " To create it, add --create.";
    throw new CommandFault(`there is no queue ${queue}; yardmaster queues lists them.${advice}`, {
      cause: fault,
    });
  }
}

export function showQueues(items: readonly Queue[], { json }: { readonly json?: boolean }): void {
  printList(items, queueColumns, { json }, "no queues yet; the first task makes one");
}

export const queueColumns: readonly Column<Queue>[] = [
  { title: "QUEUE", value: ({ name }) => name, isElastic: true },
  { title: "WAITING", value: ({ waiting }) => count(waiting), align: "right" },
  { title: "RUNNING", value: ({ running }) => count(running), align: "right" },
  {
    title: "IS",
    value: standing,
    paint: ({ draining, paused }, shown) =>
      paintState(draining ? "draining" : paused ? "paused" : "open", shown),
  },
];

export function standing({ paused, draining, limited }: Queue): string {
  const states = [paused && "paused", draining && "draining", limited && "limited"].filter(Boolean);
  return states.length === 0 ? "open" : states.join(", ");
}
