// `yardmaster drain`: sends a worker home, or closes a queue, when what runs is done.

import type { Command } from "commander";
import {
  askYard,
  ending,
  newCommand,
  print,
  printJson,
  UsageFault,
  withYard,
  type YardOptions,
} from "../command.js";
import { tableLines } from "../table.js";
import { showQueues } from "./queues.js";
import { workerColumns } from "./workers.js";

interface Flags extends YardOptions {
  readonly worker?: string;
  readonly queue?: string;
}

export function drainCommand(): Command {
  const command = newCommand("drain", "send a worker home, or close a queue", [
    { does: "before a machine is switched off", line: "yardmaster drain --worker http/ann" },
    {
      does: "take nothing more into a queue; --resume of yardmaster queues opens it again",
      line: "yardmaster drain --queue render",
    },
  ])
    .description(
      `Sends a worker home: it gets no more tasks, and what it runs it may finish; or
closes a queue: no more tasks are taken in, and those in it are still done.`,
    )
    .option("--worker <id>", "this worker, as yardmaster workers shows it")
    .option("-q, --queue <name>", "this queue");
  return withYard(command).action(ending(drain));
}

async function drain({ worker, queue, ...flags }: Flags): Promise<number> {
  if ((worker === undefined) === (queue === undefined)) {
    throw new UsageFault("what is to be drained? give --worker or --queue");
  }
  return askYard(flags, async (client) => {
    if (queue !== undefined) showQueues([await client.orderQueue(queue, "drain")], flags);
    if (worker === undefined) return 0;
    const view = await client.drainWorker(worker);
    if (flags.json) printJson(view);
    else for (const line of tableLines([view], workerColumns)) print(line);
    return 0;
  });
}
