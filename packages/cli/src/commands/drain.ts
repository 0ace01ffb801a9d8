// `yardmaster drain`: sends a worker home, or closes a queue, when what runs is done.

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
    .option("-q, --queue <name>", "this queue")
    .option("--create", "with --queue: even if there is no such queue yet");
  return withYard(command).action(ending(drain));
}

async function drain({ worker, queue, create, ...flags }: Flags): Promise<number> {
  if ((worker === undefined) === (queue === undefined)) {
    throw new UsageFault("what is to be drained? give --worker or --queue");
  }
  return askYard(flags, async (client) => {
    if (queue !== undefined) {
      const view = await orderQueue(client, queue, "drain", create);
      showQueues([view], flags);
      warn(
        `${counted(view.waiting + view.running, "task is", "tasks are")} still to be done in queue ${queue}`,
      );
    }
    if (worker === undefined) return 0;
    const view = await client.drainWorker(worker);
    if (flags.json) printJson(view);
    else for (const line of tableLines([view], workerColumns)) print(line);
    warn(
      `${counted(view.running, "task is", "tasks are")} still to be finished by worker ${printable(worker)}`,
    );
    return 0;
  });
}
