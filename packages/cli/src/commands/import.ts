// `yardmaster import`: submits again what `yardmaster export --payloads` wrote. Every task gets a
// new id.

import { createReadStream } from "node:fs";
import { Body, type SubmitItem, type Task } from "@yardmaster/sdk";
import type { Command } from "commander";
import { counted } from "../amounts.js";
import {
  askYard,
  CommandFault,
  ending,
  newCommand,
  print,
  printJson,
  warn,
  withYard,
  type YardOptions,
} from "../command.js";
import { linesOf } from "../lines.js";

interface Flags extends YardOptions {
  readonly all?: boolean;
}

/** A line of the export: a task with its payload. */
type Exported = Partial<Task> & { readonly payload?: string; readonly payloadBase64?: string };

export function importCommand(): Command {
  const command = newCommand("import", "submit tasks that were exported", [
    { does: "export the tasks of a dispatcher", line: "yardmaster export --payloads -o tasks.jsonl" },
    {
      does: "submit the unfinished ones to another dispatcher",
      line: "yardmaster import --url http://other:7420 tasks.jsonl",
    },
  ])
    .description(
      `Submits the tasks of a file that yardmaster export --payloads wrote, oldest
first, with new ids: those that wait or run, and with --all also those that have
ended. Queue, payload, priority, key, group, attempts and failures are kept. A
task that depends on other tasks is not imported, because their ids change.`,
    )
    .argument("<file>", "the file, or - for standard input")
    .option("--all", "also tasks that have ended; they run again");
  return withYard(command).action(ending(importTasks));
}

async function importTasks(file: string, flags: Flags): Promise<number> {
  const tasks: SubmitItem[] = [];
  let skipped = 0;
  const stream = file === "-" ? process.stdin : createReadStream(file);
  let number = 0;
  try {
    for await (const line of linesOf(stream, file).lines) {
      number += 1;
      if (line.length === 0) continue;
      const task = parsed(line, `${file}, line ${number}`);
      if (!flags.all && task.state !== "waiting" && task.state !== "running") continue;
      if (task.after !== undefined) skipped += 1;
      else tasks.push(itemOf(task, `${file}, line ${number}`));
    }
  } catch (cause) {
    if (cause instanceof CommandFault) throw cause;
    throw new CommandFault(`${file}: ${(cause as Error).message}`, { cause });
  }
  const refused = await submitAll(tasks.toReversed(), flags);
  const accepted = tasks.length - refused;
  if (flags.json) printJson({ accepted, refused, skipped });
  else print(`${counted(accepted, "task")} imported`);
  if (skipped > 0) warn(`${counted(skipped, "task")} left out, because they depend on other tasks`);
  return refused > 0 ? 1 : 0;
}

/** The number of tasks that were refused. */
function submitAll(items: readonly SubmitItem[], flags: Flags): Promise<number> {
  return askYard(flags, async (client) => {
    let refused = 0;
    for await (const { error } of client.submitMany(items)) {
      if (error === undefined) continue;
      refused += 1;
      warn(`yardmaster import: ${error.message}`);
    }
    return refused;
  });
}

function parsed(line: Buffer, place: string): Exported {
  try {
    const task: unknown = JSON.parse(line.toString("utf8"));
    if (typeof task === "object" && task !== null) return task;
  } catch {
    // Reported below.
  }
  throw new CommandFault(`${place}: not a task, as yardmaster export writes it`);
}

function itemOf(task: Exported, place: string): SubmitItem {
  const { queue, payload, payloadBase64, contentType, key, group, priority, lossesMax, failuresMax } = task;
  const bytes =
    payloadBase64 === undefined ? Buffer.from(payload ?? "") : Buffer.from(payloadBase64, "base64");
  const isWithout = payload === undefined && payloadBase64 === undefined && task.payloadBytes !== 0;
  if (queue === undefined || isWithout) {
    throw new CommandFault(`${place}: it has no payload; export with --payloads`);
  }
  return {
    queue,
    payload: new Body(bytes, contentType ?? "application/octet-stream"),
    ...(key == null ? {} : { key }),
    ...(group == null ? {} : { group }),
    ...(priority === undefined ? {} : { priority }),
    ...(lossesMax === undefined ? {} : { attempts: lossesMax }),
    ...(failuresMax === undefined ? {} : { failures: failuresMax }),
  };
}
