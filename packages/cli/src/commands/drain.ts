// `yardmaster drain`: stops giving tasks to a worker, or closes a queue, and lets running tasks
// finish.

import type { Command } from "commander";
import { counted } from "../amounts.js";
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
import { tableLines } from "../table.js";
import { printable } from "../terminal.js";
import { orderQueue, showQueues } from "./queues.js";
import { workerColumns } from "./workers.js";

interface Flags extends YardOptions {
  readonly worker?: string;
  readonly queue?: string;
  readonly create?: boolean;
}

export function drainCommand(): Command {
  const command = newCommand("drain", "drain a worker or a queue", [
    { does: "a worker, before its machine is switched off", line: "yardmaster drain --worker http/ann" },
    {
      does: "a queue; yardmaster queues --resume opens it again",
      line: "yardmaster drain --queue render",
    },
  ])
    .description(
      `Drains a worker: it gets no more tasks, and finishes those that it is running.
Or drains a queue: it accepts no more tasks, and those in it still run.`,
    )
    .option("--worker <id>", "this worker, as yardmaster workers shows it")
    .option("-q, --queue <name>", "this queue")
    .option("--create", "with --queue: create the queue if it does not exist");
  return withYard(command).action(ending(drain));
}

async function drain({ worker, queue, create, ...flags }: Flags): Promise<number> {
  if ((worker === undefined) === (queue === undefined)) {
    throw new UsageFault("give either --worker or --queue");
  }
  return askYard(flags, async (client) => {
    if (queue !== undefined) {
      const view = await orderQueue(client, queue, "drain", create);
      showQueues([view], flags);
      warn(`${counted(view.waiting + view.running, "task is", "tasks are")} still in queue ${queue}`);
    }
    if (worker === undefined) return 0;
    const view = await client.drainWorker(worker);
    if (flags.json) printJson(view);
    else for (const line of tableLines([view], workerColumns)) print(line);
    warn(`${counted(view.running, "task is", "tasks are")} still running on worker ${printable(worker)}`);
    return 0;
  });
}
