// `yardmaster init` writes a commented configuration; `yardmaster config check` looks for mistakes
// in one.

import { writeFileSync } from "node:fs";
import type { Command } from "commander";
import {
  CommandFault,
  ending,
  type JsonOption,
  newCommand,
  print,
  printJson,
  UsageFault,
  warn,
  withJson,
} from "../command.js";

const defaultFile = "yardmaster.yaml";

interface InitFlags extends JsonOption {
  readonly force?: boolean;
}

export function initCommand(): Command {
  const command = newCommand("init", "write a configuration file with every setting explained", [
    { does: `write ${defaultFile} here`, line: "yardmaster init" },
    { does: "write the file of a service", line: "yardmaster init /etc/yardmaster.yaml" },
    { does: "only show it", line: "yardmaster init -" },
  ])
    .description(
      `Writes a configuration file in which every setting is explained, shown with its
default and commented out. Nothing changes until a # is removed. A file that is
already there is kept, unless --force is given.`,
    )
    .argument("[file]", "the file, or - for standard output", defaultFile)
    .option("--force", "replace a file that is already there");
  return withJson(command, "print the name of the file as JSON").action(ending(init));
}

async function init(file: string, flags: InitFlags): Promise<number> {
  const { commentedConfig } = await import("@yardmaster/server");
  if (file === "-") {
    process.stdout.write(commentedConfig());
    return 0;
  }
  try {
    writeFileSync(file, commentedConfig(), { flag: flags.force ? "w" : "wx" });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const text = code === "EEXIST" ? `${file} is already there; --force replaces it` : message;
    throw new CommandFault(text, { cause });
  }
  if (flags.json) printJson({ file });
  else print(`${file} is written; every setting in it is commented out`);
  return 0;
}

export function configCommand(): Command {
  const command = newCommand("config", "check a configuration file", [
    { does: "find the mistakes in a file", line: "yardmaster config check /etc/yardmaster.yaml" },
    { does: "the settings in force, and where each comes from", line: "yardmaster serve --print-config" },
  ])
    .description(
      `Checks a configuration file without starting a dispatcher, and prints each
mistake with its line. The exit code is 2 if there is one. Environment variables
such as YARD_DATA are ignored.`,
    )
    .argument("<action>", "check")
    .argument("[file]", `the file (default: ${defaultFile} or yardmaster.json here)`);
  return withJson(command, "print the mistakes as JSON").action(ending(check));
}

async function check(action: string, file: string | undefined, { json }: JsonOption): Promise<number> {
  if (action !== "check") throw new UsageFault(`found "${action}", expected check`);
  const { ConfigFault, loadConfig } = await import("@yardmaster/server");
  const mistakes: string[] = [];
  try {
    loadConfig({ folder: process.cwd(), file });
  } catch (fault) {
    if (!(fault instanceof ConfigFault)) throw fault;
    mistakes.push(...fault.mistakes);
  }
  if (json) printJson({ mistakes });
  else if (mistakes.length === 0) print(`${file ?? "the configuration"} has no mistakes`);
  else for (const mistake of mistakes) warn(mistake);
  return mistakes.length === 0 ? 0 : 2;
}
