// `yardmaster doctor`: checks what a dispatcher needs from this machine, and explains how to fix
// what is missing.

import type { Command } from "commander";
import {
  defaultUrl,
  ending,
  newCommand,
  print,
  printJson,
  UsageFault,
  version,
  withYard,
  type YardOptions,
} from "../command.js";
import { checkDispatcher, type RunningDispatcher } from "../doctor/dispatcher.js";
import { checkDoors } from "../doctor/doors.js";
import { type Finding, good, wrong } from "../doctor/finding.js";
import { checkMachine } from "../doctor/machine.js";
import { paint, printable } from "../terminal.js";

interface Flags extends YardOptions {
  readonly config?: string;
  readonly data?: string;
}

export function doctorCommand(): Command {
  const command = newCommand("doctor", "check ports, folder, limits, clock and versions", [
    { does: "before the first start", line: "yardmaster doctor" },
    { does: "with the settings of a service", line: "yardmaster doctor --config /etc/yardmaster.yaml" },
    {
      does: "only the faults, for a program",
      line: "yardmaster doctor --json | jq -r 'select(.status == \"wrong\") | .check'",
    },
  ])
    .description(
      `Checks what a dispatcher needs from this machine: versions, configuration, folder,
ports, limits and clock. If a dispatcher is running, it is checked too. The exit
code is 1 if something is wrong. Suggestions are printed, but are not faults.`,
    )
    .option("--config <file>", "the settings to check, as yardmaster serve takes them")
    .option("--data <dir>", "the folder of the engine");
  return withYard(command).action(ending(doctor));
}

async function doctor(flags: Flags): Promise<number> {
  if (!/^https?:/.test(flags.url))
    throw new UsageFault(`--url: found ${flags.url}, expected a URL such as ${defaultUrl}`);
  let isWrong = false;
  for await (const finding of findings(flags)) {
    isWrong ||= finding.status === "wrong";
    if (flags.json) printJson(finding);
    else for (const line of linesOf(finding)) print(line);
  }
  return isWrong ? 1 : 0;
}

async function* findings(flags: Flags): AsyncGenerator<Finding> {
  yield good("yardmaster", version);
  const dispatcher = await checkDispatcher(flags);
  yield* dispatcher.findings;
  yield* configured(flags, dispatcher.running);
}

/** Loads the server only here, so that the help need not wait for it. */
async function* configured(flags: Flags, running: RunningDispatcher | undefined): AsyncGenerator<Finding> {
  const { loadConfig, ConfigFault, placesOf } = await import("@yardmaster/server");
  try {
    const config = loadConfig({
      folder: process.cwd(),
      file: flags.config,
      data: flags.data,
      variables: process.env,
    });
    yield good("configuration", `engine ${config.engine}, durability ${config.durability}`);
    yield* checkMachine(config.data);
    yield* checkDoors(placesOf(config), running);
  } catch (fault) {
    if (!(fault instanceof ConfigFault)) throw fault;
    yield wrong(
      "configuration",
      fault.message,
      "Correct it; docs/operations.md lists each key and its values.",
    );
    yield* checkMachine(flags.data ?? "./yard-data");
  }
}

function linesOf({ check, status, says, advice }: Finding): string[] {
  const mark = {
    good: paint("green", "ok   "),
    better: paint("yellow", "note "),
    wrong: paint("red", "WRONG"),
  }[status];
  const line = `${mark}  ${check.padEnd(14)} ${printable(says)}`;
  return advice === undefined ? [line] : [line, `${" ".repeat(22)}→ ${advice}`];
}
