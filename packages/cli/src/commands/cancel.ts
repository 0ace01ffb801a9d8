// `yardmaster cancel` and `yardmaster retry`: something done to each of the tasks that are named.

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
import { paintState, printable } from "../terminal.js";

export function cancelCommand(): Command {
  const command = newCommand("cancel", "cancel tasks", [
    { does: "two of them", line: "yardmaster cancel 12 13" },
    {
      does: "all that wait in a queue",
      line: "yardmaster tasks --queue render --state waiting --limit 1000 --ids \\\n    | yardmaster cancel -",
    },
  ]).argument("<id...>", "the tasks' numbers; - reads them from standard input");
  return withYard(command).action(
    ending((ids: readonly string[], flags: YardOptions) =>
      forEach(ids, flags, (client, id) => client.cancel(id), {
        of: ({ id, state }) => `task ${id} is ${paintState(state)}`,
        done: "cancelled",
      }),
    ),
  );
}

export function retryCommand(): Command {
  const command = newCommand("retry", "hand tasks that ended badly in again", [
    { does: "one of them", line: "yardmaster retry 12" },
    {
      does: "all that failed today",
      line: "yardmaster tasks --state failed --since 1d --limit 1000 --ids \\\n    | yardmaster retry -",
    },
  ])
    .description(
      `Hands tasks that failed, expired or were cancelled in again: each as a new task
with the same payload.`,
    )
    .argument("<id...>", "the tasks' numbers; - reads them from standard input");
  return withYard(command).action(
    ending((ids: readonly string[], flags: YardOptions) =>
      forEach(ids, flags, (client, id) => client.retry(id), {
        of: (task, id) =>
          task.id === id
            ? `task ${id} is ${paintState(task.state)}`
            : `task ${id} is tried anew as task ${task.id}`,
        done: "tried anew",
      }),
    ),
  );
}

/** Requests under way at once. */
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
        if (error instanceof YardError && !ofTheYard.has(error.code)) return { id, error };
        throw error;
      }
    });
    try {
      for await (const { id, task, error } of outcomes) {
        if (error) refused += 1;
        else done += 1;
        // A live line and this one may share the terminal.
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
  /** What became of many. */
  readonly done: string;
}

/** Faults that would be the same for every task. */
const ofTheYard: ReadonlySet<string> = new Set([
  "unreachable",
  "unauthorized",
  "forbidden",
  "not_ready",
  "unexpected_answer",
  "unsupported",
]);

async function* idsOf(ids: readonly string[]): AsyncGenerator<string> {
  if (ids.includes("-") && ids.length > 1)
    throw new UsageFault("- stands alone: the ids are read from standard input");
  if (ids[0] !== "-") {
    yield* ids;
    return;
  }
  for await (const line of linesOf(process.stdin, "standard input").lines) {
    const id = line.toString("utf8").trim();
    if (id !== "") yield id;
  }
}
