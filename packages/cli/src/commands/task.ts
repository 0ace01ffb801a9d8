// `yardmaster task ID`: shows one task with its story, or its bytes.

import { hasEnded, type Task } from "@yardmaster/sdk";
import type { Command } from "commander";
import { ago, durationMs, size } from "../amounts.js";
import {
  askYard,
  CommandFault,
  ending,
  newCommand,
  print,
  printJson,
  UsageFault,
  withYard,
  type YardOptions,
} from "../command.js";
import { tableLines } from "../table.js";
import { cut, paint, paintState, printable, widthOf } from "../terminal.js";
import { follow, progressWords } from "./follow.js";

interface Flags extends YardOptions {
  readonly payload?: boolean;
  readonly result?: boolean;
  readonly wait?: boolean;
  readonly waitLimit?: number;
  readonly follow?: boolean;
}

export function taskCommand(): Command {
  const command = newCommand("task", "show one task with its story, or its bytes", [
    { does: "its state, and how it got there", line: "yardmaster task 12" },
    { does: "wait for it, and keep its result", line: "yardmaster task 12 --wait --result > frame.png" },
    { does: "watch its progress until it ends", line: "yardmaster task 12 --follow" },
    { does: "its payload", line: "yardmaster task 12 --payload" },
  ])
    .description(
      `Shows one task with its story, or prints its payload or result. The exit code
is 1 if the task is unknown or ended without a result.`,
    )
    .argument("<id>", "the task's number")
    .option("--payload", "print only its payload, unchanged")
    .option("--result", "print only its result, unchanged")
    .option("-w, --wait", "wait until it ends")
    .option("-f, --follow", "show its progress until it ends")
    .option("--wait-limit <duration>", "maximum wait; goes with --wait", durationMs);
  return withYard(command).action(ending(task));
}

async function task(id: string, flags: Flags): Promise<number> {
  if (flags.payload && flags.result) throw new UsageFault("--payload and --result: give one of them");
  if (flags.follow && (flags.payload || flags.result || flags.wait || flags.waitLimit !== undefined))
    throw new UsageFault("--follow cannot be combined with --payload, --result or --wait");
  return askYard(flags, async (client) => {
    if (flags.payload) {
      process.stdout.write((await client.payload(id)).bytes);
      return 0;
    }
    if (flags.follow) {
      const seen = await follow(client, id, flags.json === true);
      if (!flags.json) for (const line of taskLines(await client.task(id))) print(line);
      return isGood(seen) ? 0 : 1;
    }
    if (flags.wait || flags.waitLimit !== undefined) {
      await over(client.result(id, flags.waitLimit === undefined ? {} : { waitMs: flags.waitLimit }));
    }
    const seen = await client.task(id);
    if (flags.result) {
      if (!hasEnded(seen.state))
        throw new CommandFault(`task ${id} is ${seen.state}: it has no result yet; --wait waits for it`);
      process.stdout.write((await client.result(id)).bytes);
      return 0;
    }
    if (flags.json) printJson(seen);
    else for (const line of taskLines(seen)) print(line);
    return isGood(seen) ? 0 : 1;
  });
}

/** Ignores a failure of the task, which is shown as its outcome. */
async function over(result: Promise<unknown>): Promise<void> {
  await result.catch((fault: { code?: string; name?: string }) => {
    if (fault.name !== "TaskEndedError") throw fault;
  });
}

/** A failed task exits with 1. An expired or cancelled one has no result either. */
function isGood({ state }: Task): boolean {
  return !hasEnded(state) || state === "done";
}

function idsShown(ids: readonly string[] = [], more = ""): string {
  return ids.length === 0 ? "" : `${ids.length === 1 ? "task" : "tasks"} ${ids.join(", ")}${more}`;
}

export function taskLines(task: Task, width: number = widthOf()): string[] {
  const facts: [string, string][] = [
    ["queue", `${task.queue}${task.priority === 0 ? "" : `, priority ${task.priority}`}`],
    ["group", task.group ?? ""],
    [
      "submitted",
      `through ${task.door}${task.replyTo === null ? "" : ` from ${task.replyTo}`}${task.schedule === undefined ? "" : ` ${task.schedule}`}, ${ago(task.submittedAt)} ago`,
    ],
    ["key", task.key ?? ""],
    ["after", idsShown(task.after, task.ifFailed === "run" ? ", even if one fails" : "")],
    ["before", idsShown(task.dependents)],
    ["retry of", task.retries ?? ""],
    ["worker", task.worker ?? ""],
    ["progress", task.progress ? progressWords(task.progress).join("  ") : ""],
    ["payload", `${size(task.payloadBytes)}, ${task.contentType}`],
    ["result", task.resultBytes === null ? "" : size(task.resultBytes)],
    ["error", task.error ? `${task.error.code}: ${task.error.message}` : ""],
    [
      "why",
      task.why
        ? `${task.why.code}: ${task.why.message}${task.why.until ? ` Until ${task.why.until}.` : ""}`
        : "",
    ],
  ];
  const lines = [`task ${paint("bold", task.id)} is ${paintState(task.state)}`];
  for (const [name, value] of facts) {
    if (value !== "") lines.push(cut(`  ${name.padEnd(9)} ${printable(value)}`, width));
  }
  if (task.error?.detail !== undefined) {
    lines.push("  detail");
    for (const line of task.error.detail.split("\n")) lines.push(cut(`    ${printable(line)}`, width));
  }
  lines.push("");
  const story = tableLines(
    task.story,
    [
      { title: "AT", value: ({ at }) => at },
      { title: "BECAME", value: ({ to }) => to, paint: ({ to }, shown) => paintState(to, shown) },
      { title: "BECAUSE", value: ({ cause }) => cause, isElastic: true },
      { title: "WORKER", value: ({ worker }) => worker ?? "", isElastic: true },
      { title: "ATTEMPT", value: ({ attempt }) => String(attempt ?? ""), isElastic: true },
    ],
    width,
  );
  return [...lines, ...story];
}
