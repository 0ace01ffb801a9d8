// `yardmaster cancel` and `yardmaster retry`: apply an action to each named task, or to all that
// match a filter.

import { type HttpClient, inOrder, type Task, YardError } from "@yardmaster/sdk";
import type { Command } from "commander";
import { count, counted, span } from "../amounts.js";
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
import { linesOf } from "../lines.js";
import { Progress } from "../progress.js";
import { queryOf, withQuery } from "../task-query.js";
import { paintState, printable } from "../terminal.js";
import { type BulkFlags, bulkCancel, bulkRetry, isByFilter, runBulk, withYes } from "./bulk.js";

export function cancelCommand(): Command {
  const command = newCommand("cancel", "cancel tasks", [
    { does: "two of them", line: "yardmaster cancel 12 13" },
    { does: "all that wait in a queue", line: "yardmaster cancel --queue render --state waiting" },
    {
      does: "all tasks of the last hour that have not ended, from a script",
      line: "yardmaster cancel --since 1h --yes",
    },
  ])
    .description(
      `Cancels the named tasks, or all tasks that match a filter. With a filter it
counts the tasks and asks first; tasks that are submitted later are not
affected. Ctrl-C stops it.`,
    )
    .argument("[id...]", "the tasks' numbers; - reads them from standard input");
  return withYard(withBulk(command)).action(
    ending(async (ids: readonly string[], flags: BulkFlags) => {
      if (isByFilter(ids, flags)) return runBulk(bulkCancel, queryOf(flags), flags);
      return forEach(ids, flags, (client, id) => client.cancel(id), {
        of: ({ id, state }) => `task ${id} is ${paintState(state)}`,
        done: "cancelled",
      });
    }),
  );
}

function withBulk(command: Command): Command {
  return withYes(withQuery(command).option("--all", "all tasks, without a filter"));
}

export function retryCommand(): Command {
  const command = newCommand("retry", "submit failed, expired or cancelled tasks again", [
    { does: "one of them", line: "yardmaster retry 12" },
    { does: "all that failed in the last day", line: "yardmaster retry --state failed --since 1d" },
    {
      does: "a chosen few",
      line: "yardmaster tasks --state failed --limit 1000 --ids \\\n    | head -n 3 | yardmaster retry -",
    },
  ])
    .description(
      `Submits tasks that failed, expired or were cancelled again, each as a new task
with the same payload. It takes the tasks' numbers, or a filter; with a filter it
counts the tasks and asks first. Ctrl-C stops it.`,
    )
    .argument("[id...]", "the tasks' numbers; - reads them from standard input")
    .option("--dependents", "also retry the tasks that were cancelled because of it");
  return withYard(withBulk(command)).action(
    ending(async (ids: readonly string[], flags: BulkFlags & { readonly dependents?: boolean }) => {
      if (isByFilter(ids, flags)) return runBulk(bulkRetry, queryOf(flags), flags);
      const dependents = flags.dependents === true;
      return forEach(ids, flags, (client, id) => client.retry(id, { dependents }), {
        of: (task, id) =>
          task.id === id
            ? `task ${id} is ${paintState(task.state)}`
            : `task ${id} is retried as task ${task.id}`,
        done: "retried",
      });
    }),
  );
}

/** Maximum number of concurrent requests. */
const atOnce = 16;

async function forEach(
  ids: readonly string[],
  flags: YardOptions,
  act: (client: HttpClient, id: string) => Promise<Task>,
  words: Words,
): Promise<number> {
  return askYard(flags, async (client) => {
    const progress = new Progress("tasks", ids[0] === "-");
    let done = 0;
    let refused = 0;
    const tellTotal = () => {
      if (ids[0] !== "-") return;
      const figures = `${count(refused)} refused, in ${span(progress.elapsedMs)}`;
      warn(`${counted(done, "task")} ${words.done}, ${figures}`);
    };
    const outcomes = inOrder(idsOf(ids), atOnce, async (id) => {
      try {
        return { id, task: await act(client, id) };
      } catch (error) {
        if (error instanceof YardError && !generalFaults.has(error.code)) return { id, error };
        throw error;
      }
    });
    try {
      for await (const { id, task, error } of outcomes) {
        if (error) refused += 1;
        else done += 1;
        // The progress line and this line may share the terminal.
        if (error || process.stdout.isTTY) progress.clear();
        if (error && flags.json) printJson({ id, error: { code: error.code, message: error.message } });
        else if (error) warn(`task ${printable(id)}: ${printable(error.message)}`);
        else if (flags.json) printJson(task);
        else if (task) print(words.of(task, id));
        progress.show(done + refused);
      }
    } catch (fault) {
      progress.clear();
      if (done + refused > 0) tellTotal();
      throw fault;
    }
    progress.clear();
    tellTotal();
    return refused > 0 ? 1 : 0;
  });
}

interface Words {
  readonly of: (task: Task, id: string) => string;
  /** The result for many tasks, in words. */
  readonly done: string;
}

/** Faults that would be the same for every task. */
const generalFaults: ReadonlySet<string> = new Set([
  "unreachable",
  "unauthorized",
  "forbidden",
  "not_ready",
  "unexpected_answer",
  "unsupported",
]);

async function* idsOf(ids: readonly string[]): AsyncGenerator<string> {
  if (ids.includes("-") && ids.length > 1)
    throw new UsageFault("- reads the ids from standard input: give no other ids");
  if (ids[0] !== "-") {
    yield* ids;
    return;
  }
  for await (const line of linesOf(process.stdin, "standard input").lines) {
    const id = line.toString("utf8").trim();
    if (id !== "") yield id;
  }
}
