// `yardmaster tasks`: lists matching tasks, newest first.

import type { Task } from "@yardmaster/sdk";
import type { Command } from "commander";
import { ago, wholeNumber } from "../amounts.js";
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
import { type QueryFlags, queryOf, withQuery } from "../task-query.js";
import { paintState } from "../terminal.js";

interface Flags extends YardOptions, QueryFlags {
  readonly limit: number;
  readonly ids?: boolean;
}

export function tasksCommand(): Command {
  const command = newCommand("tasks", "list tasks, newest first", [
    { does: "what failed in the last hour, and why", line: "yardmaster tasks --state failed --since 1h" },
    { does: "why tasks wait", line: "yardmaster tasks --queue render --state waiting" },
    {
      does: "cancel all that wait",
      line: "yardmaster tasks --queue render --state waiting --limit 1000 --ids \\\n    | yardmaster cancel -",
    },
    { does: "for programs", line: "yardmaster tasks --queue render --json | jq .state" },
  ]);
  return withYard(
    withQuery(command)
      .option("-n, --limit <number>", "maximum number of tasks", wholeNumber(1), 50)
      .option("--ids", "print the ids alone"),
  ).action(ending(tasks));
}

async function tasks(flags: Flags): Promise<number> {
  if (flags.ids && flags.json) throw new UsageFault("--ids and --json: give one of them");
  return askYard(flags, async (client) => {
    const found: Task[] = [];
    let hasMore = false;
    const pageSize = Math.min(flags.limit, 1000);
    let number = 0;
    for await (const task of client.tasks(queryOf(flags), { pageSize })) {
      hasMore = number === flags.limit;
      if (hasMore) break;
      number += 1;
      if (flags.json) printJson(task);
      else if (flags.ids) print(task.id);
      else found.push(task);
    }
    if (flags.json || flags.ids) return 0;
    if (found.length === 0) warn("no such tasks");
    else for (const line of tableLines(found, taskColumns)) print(line);
    if (hasMore) warn(`there are more: --limit ${flags.limit * 10}, or yardmaster export for all`);
    return 0;
  });
}

export const taskColumns: readonly Column<Task>[] = [
  { title: "ID", value: ({ id }) => id, align: "right" },
  { title: "QUEUE", value: ({ queue }) => queue, isElastic: true },
  {
    title: "STATE",
    value: ({ state }) => state,
    paint: ({ state }, shown) => paintState(state, shown),
  },
  { title: "AGE", value: ({ submittedAt }) => ago(submittedAt), align: "right" },
  { title: "DOOR", value: ({ door }) => door },
  { title: "WORKER", value: ({ worker }) => worker ?? "", isElastic: true },
  { title: "SAYS", value: says, isElastic: true },
];

function says({ error, why }: Task): string {
  if (error) return `${error.code}: ${error.message}`;
  return why ? `${why.code}: ${why.message}` : "";
}
