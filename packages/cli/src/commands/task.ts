// `yardmaster task ID`: one task with its story, or its bytes.

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

interface Flags extends YardOptions {
  readonly payload?: boolean;
  readonly result?: boolean;
  readonly wait?: boolean;
  readonly waitLimit?: number;
}

export function taskCommand(): Command {
  const command = newCommand("task", "show one task with its story, or its bytes", [
    { does: "where it stands, and how it came there", line: "yardmaster task 12" },
    { does: "wait for it, and keep its result", line: "yardmaster task 12 --wait --result > frame.png" },
    { does: "what it was given", line: "yardmaster task 12 --payload" },
  ])
    .description(
      `Shows one task with its story, or its bytes. Exit code 1 when it is unknown, or
ended without a result.`,
    )
    .argument("<id>", "the task's number")
    .option("--payload", "print its payload, as it is")
    .option("--result", "print its result, as it is")
    .option("-w, --wait", "wait until it is over")
    .option("--wait-limit <duration>", "at most so long; goes with --wait", durationMs);
  return withYard(command).action(ending(task));
}

async function task(id: string, flags: Flags): Promise<number> {
  if (flags.payload && flags.result) throw new UsageFault("--payload and --result: give one of them");
  return askYard(flags, async (client) => {
    if (flags.payload) {
      process.stdout.write((await client.payload(id)).bytes);
      return 0;
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

/** However it ended: that is shown, and no fault of the asking. */
async function over(result: Promise<unknown>): Promise<void> {
  await result.catch((fault: { code?: string; name?: string }) => {
    if (fault.name !== "TaskEndedError") throw fault;
  });
}

/** A failed task: exit 1. One that expired or was cancelled has no result either. */
function isGood({ state }: Task): boolean {
  return !hasEnded(state) || state === "done";
}

export function taskLines(task: Task, width: number = widthOf()): string[] {
  const facts: [string, string][] = [
    ["queue", `${task.queue}${task.priority === 0 ? "" : `, priority ${task.priority}`}`],
    [
      "came by",
      `${task.door}${task.replyTo === null ? "" : ` from ${task.replyTo}`}, ${ago(task.submittedAt)} ago`,
    ],
    ["key", task.key ?? ""],
    ["worker", task.worker ?? ""],
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
