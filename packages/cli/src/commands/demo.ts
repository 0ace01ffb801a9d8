// `yardmaster demo`: a dispatcher of its own with clients and workers of all dialects, to look at.

import { type Command, Option } from "commander";
import { durationMs } from "../amounts.js";
import { ending, type JsonOption, newCommand, withJson } from "../command.js";

export const demoLasts = "2m";

interface Flags extends JsonOption {
  readonly for: number;
  readonly forever?: boolean;
}

export function demoCommand(): Command {
  const command = newCommand("demo", "show it at work for two minutes, in a dispatcher of its own", [
    { does: "open the page that it prints", line: "yardmaster demo" },
    { does: "until Ctrl-C", line: "yardmaster demo --forever" },
  ])
    .description(
      `Starts a dispatcher of its own with workers and clients of all six dialects, and
prints the address of its page. It keeps everything in memory, uses free ports,
and never connects to another dispatcher: YARD_URL is not read.`,
    )
    .addOption(
      new Option("--for <duration>", "how long it runs")
        .argParser(durationMs)
        .default(durationMs(demoLasts), demoLasts),
    )
    .option("--forever", "until Ctrl-C");
  return withJson(command, "print one line of JSON when all doors are open").action(ending(demo));
}

/** The dispatcher is loaded on demand, so that other commands start quickly. */
async function demo(flags: Flags): Promise<number> {
  const { runDemo } = await import("../demo/run.js");
  return runDemo({
    json: flags.json === true,
    lastsMs: flags.forever ? Number.POSITIVE_INFINITY : flags.for,
  });
}
