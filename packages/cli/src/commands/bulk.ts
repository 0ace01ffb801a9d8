// Cancel and retry by filter, and `yardmaster purge`: counts the tasks, asks, begins an action of
// the dispatcher and shows how far it is. Ctrl-C stops the action.

import { createInterface } from "node:readline/promises";
import type { Action, HttpClient, TaskCount, TaskQuery, TaskState } from "@yardmaster/sdk";
import type { Command } from "commander";
import { count, counted, span } from "../amounts.js";
import {
  askYard,
  CommandFault,
  ending,
  newCommand,
  print,
  printJson,
  UsageFault,
  warn,
  withYard,
  type YardOptions,
} from "../command.js";
import { Progress } from "../progress.js";
import { exitCodeOf, hearSignals } from "../signals.js";
import { type QueryFlags, queryOf } from "../task-query.js";
import { printable } from "../terminal.js";
import { knownQueue } from "./queue.js";

export interface BulkFlags extends YardOptions, QueryFlags {
  readonly all?: boolean;
  readonly yes?: boolean;
}

interface Bulk {
  /** Imperative and past tense: "cancel", "cancelled". */
  readonly verb: string;
  readonly done: string;
  /** States in which tasks are found, if the filter names none. */
  readonly states: readonly TaskState[];
  readonly begin: (client: HttpClient, filter: TaskQuery) => Promise<Action>;
}

export const bulkCancel: Bulk = {
  verb: "cancel",
  done: "cancelled",
  states: ["waiting", "running"],
  begin: (client, filter) => client.cancelMany(filter as never),
};

export const bulkRetry: Bulk = {
  verb: "retry",
  done: "retried",
  states: ["failed", "cancelled", "expired"],
  begin: (client, filter) => client.retryMany(filter as never),
};

const bulkPurge: Bulk = {
  verb: "cancel",
  done: "cancelled",
  states: ["waiting"],
  begin: (client, { queue = "" }) => client.purge(queue),
};

export function purgeCommand(): Command {
  const command = newCommand("purge", "cancel all tasks that wait in a queue", [
    { does: "count the tasks, ask, and cancel them", line: "yardmaster purge render" },
    { does: "from a script", line: "yardmaster purge render --yes" },
  ])
    .description(
      `Cancels all tasks that wait in a queue. Running tasks are not affected, nor are
tasks that are submitted after it began. Ctrl-C stops it; tasks that are
already cancelled stay cancelled.`,
    )
    .argument("<queue>", "the queue's name");
  return withYard(withYes(command)).action(
    ending((queue: string, flags: BulkFlags) => runBulk(bulkPurge, { queue }, flags)),
  );
}

export function withYes(command: Command): Command {
  return command.option("-y, --yes", "do not ask first; needed without a terminal");
}

/** True if the command is meant for all tasks that match, and not for those that it names. */
export function isByFilter(ids: readonly string[], flags: BulkFlags): boolean {
  const hasFilter = flags.all === true || Object.keys(queryOf(flags)).length > 0;
  if (hasFilter && ids.length > 0) throw new UsageFault("give the tasks' numbers or a filter, not both");
  if (!hasFilter && ids.length === 0)
    throw new UsageFault("missing required argument 'id', or a filter such as --queue, or --all");
  return hasFilter;
}

/** Runs it for all tasks that match and returns the exit code. */
export function runBulk(bulk: Bulk, filter: TaskQuery, flags: BulkFlags): Promise<number> {
  const { state } = filter;
  if (state !== undefined && !bulk.states.includes(state)) {
    const expected = bulk.states.join(" or ");
    throw new UsageFault(`--state ${state}: such tasks cannot be ${bulk.done}; expected ${expected}`);
  }
  return askYard(flags, async (client) => {
    const found = await countAll(client, bulk, filter);
    if (found.count === 0) {
      if (bulk === bulkPurge) await refuseUnknown(client, filter.queue ?? "");
      warn("no such tasks");
      return 0;
    }
    const tasks = `${found.isMore ? "more than " : ""}${counted(found.count, "task")}`;
    if (flags.yes !== true && !(await isConfirmed(`${bulk.verb} ${tasks}`))) {
      warn("nothing was done");
      return 1;
    }
    // Before it begins, because from then on a signal must stop it.
    const { first } = hearSignals();
    const { id } = await bulk.begin(client, filter);
    return follow(client, bulk, { id, first, ...found }, flags);
  });
}

/** A queue that holds nothing is forgotten, so one with finished tasks counts as known too. */
async function refuseUnknown(client: HttpClient, queue: string): Promise<void> {
  const { count: ever } = await client.count({ queue });
  if (ever === 0) await knownQueue(client, queue);
}

async function countAll(
  client: HttpClient,
  bulk: Bulk,
  filter: TaskQuery,
): Promise<Omit<TaskCount, "byQueue">> {
  let sum = 0;
  let isMore = false;
  for (const state of filter.state === undefined ? bulk.states : [filter.state]) {
    const found = await client.count({ ...filter, state });
    sum += found.count;
    isMore ||= found.isMore;
  }
  return { count: sum, isMore };
}

async function isConfirmed(what: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new UsageFault(`this would ${what}; add --yes to confirm: there is no terminal to ask at`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C or the end of the input is a no.
  const gone = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
  const question = `${what[0]?.toUpperCase()}${what.slice(1)}? [y/N] `;
  const answer = await Promise.race([terminal.question(question), gone]);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

interface Begun extends Pick<TaskCount, "count" | "isMore"> {
  readonly id: string;
  /** The first signal to this command. */
  readonly first: Promise<NodeJS.Signals>;
}

async function follow(client: HttpClient, { done }: Bulk, begun: Begun, flags: BulkFlags): Promise<number> {
  const { id, first, isMore, count: total } = begun;
  const progress = new Progress("tasks");
  let signalled: NodeJS.Signals | undefined;
  void first.then((signal) => {
    signalled = signal;
    return client.stopAction(id).catch(() => undefined);
  });
  const ended = await client
    .actionEnd(id, {
      onProgress: ({ matched }) => progress.show(matched, isMore ? undefined : matched / total),
    })
    .catch((cause: Error) => {
      progress.clear();
      throw new CommandFault(`${cause.message}; action ${id} goes on in the dispatcher`, { cause });
    });
  progress.clear();
  if (flags.json) printJson(ended);
  else
    print(
      `${counted(ended.done, "task")} ${done}, ${count(ended.refused)} refused, in ${span(progress.elapsedMs)}`,
    );
  if (ended.lastRefusal !== null) warn(`the last refusal: ${printable(ended.lastRefusal)}`);
  if (ended.state !== "stopped") return 0;
  warn(`action ${id} was stopped before it had seen all tasks`);
  return signalled === undefined ? 1 : exitCodeOf(signalled);
}
