// `yardmaster export`: prints every matching task as a line of JSON.

import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { type Body, type HttpClient, inOrder, type Task, YardError } from "@yardmaster/sdk";
import type { Command } from "commander";
import { counted, span } from "../amounts.js";
import { askYard, CommandFault, ending, newCommand, warn, withYard, type YardOptions } from "../command.js";
import { Progress } from "../progress.js";
import { type QueryFlags, queryOf, withQuery } from "../task-query.js";

interface Flags extends YardOptions, QueryFlags {
  readonly output?: string;
  readonly payloads?: boolean;
  readonly results?: boolean;
}

export function exportCommand(): Command {
  const command = newCommand("export", "write tasks as JSON lines", [
    { does: "all tasks", line: "yardmaster export --output tasks.jsonl" },
    {
      does: "the tasks of a queue in a day, with results",
      line: "yardmaster export --queue render --state done --since 1d --results",
    },
    { does: "count by state", line: "yardmaster export --json | jq -r .state | sort | uniq -c" },
  ])
    .description(
      `Writes every task that matches, newest first, as JSON lines: one object per task, as
GET /v1/tasks shows it. With --payloads and --results their bytes are added, as
payload or payloadBase64 and result or resultBase64.`,
    )
    .option("-o, --output <file>", "write to this file (default: standard output)")
    .option("--payloads", "add the payloads")
    .option("--results", "add the results");
  return withYard(withQuery(command)).action(ending(exportTasks));
}

/** Maximum number of bodies requested at once. */
const atOnce = 8;
const pageSize = 1000;

async function exportTasks(flags: Flags): Promise<number> {
  return askYard(flags, async (client) => {
    const progress = new Progress("tasks", flags.output !== undefined || process.stdout.isTTY !== true);
    const target = flags.output === undefined ? process.stdout : createWriteStream(flags.output);
    let fault: Error | undefined;
    if (flags.output !== undefined) {
      target.once("error", (cause) => {
        fault = new CommandFault(`${flags.output}: ${cause.message}`, { cause });
      });
    }
    let number = 0;
    const tasks = client.tasks(queryOf(flags), { pageSize });
    const lines = inOrder(tasks, flags.payloads || flags.results ? atOnce : 1, (task) =>
      withBodies(client, task, flags),
    );
    for await (const line of lines) {
      if (fault) throw fault;
      number += 1;
      if (!target.write(`${JSON.stringify(line)}\n`)) await room(target);
      progress.show(number);
    }
    progress.clear();
    if (fault) throw fault;
    if (flags.output !== undefined) {
      target.end();
      await finished(target).catch((cause: Error) => {
        throw new CommandFault(`${flags.output}: ${cause.message}`, { cause });
      });
    }
    const where = flags.output === undefined ? "" : ` to ${flags.output}`;
    warn(`${counted(number, "task")} written${where} in ${span(progress.elapsedMs)}`);
    return 0;
  });
}

/** Errors are handled by the listener of `exportTasks`, or end the process. */
async function room(target: NodeJS.WritableStream): Promise<void> {
  await once(target, "drain").catch(() => {});
}

async function withBodies(client: HttpClient, task: Task, { payloads, results }: Flags): Promise<object> {
  const payload = payloads ? await bodyOf(client.payload(task.id)) : undefined;
  const result = results && task.state === "done" ? await bodyOf(client.result(task.id)) : undefined;
  return { ...task, ...shown("payload", payload), ...shown("result", result) };
}

/** Undefined if retention evicted it in the meantime. */
function bodyOf(body: Promise<Body>): Promise<Body | undefined> {
  return body.catch((fault) => {
    if (fault instanceof YardError && fault.code === "not_found") return undefined;
    throw fault;
  });
}

function shown(name: string, body: Body | undefined): object {
  if (body === undefined) return {};
  const text = body.text();
  const isText = Buffer.from(text).equals(body.bytes);
  return isText ? { [name]: text } : { [`${name}Base64`]: body.bytes.toString("base64") };
}
