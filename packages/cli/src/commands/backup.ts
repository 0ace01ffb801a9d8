// `yardmaster backup` copies the store of a dispatcher, running or not; `yardmaster restore` puts a
// copy back. Both work on the folder itself, so they run on the dispatcher's machine as its user.

import type { Command } from "commander";
import { span } from "../amounts.js";
import { CommandFault, ending, type JsonOption, newCommand, print, printJson, withJson } from "../command.js";

interface Flags extends JsonOption {
  readonly config?: string;
  readonly data?: string;
}

export function backupCommand(): Command {
  const command = newCommand("backup", "copy the store into a folder, while the dispatcher runs", [
    { does: "of the dispatcher in this folder", line: "yardmaster backup /backups/monday" },
    { does: "of a service", line: "yardmaster backup --data /var/lib/yardmaster /backups/monday" },
  ])
    .description(
      `Copies the store into a folder that is empty or new. The dispatcher may keep
running. The copy has every task and outcome that was acknowledged before the
backup began, and is checked before the command ends. Run it on the
dispatcher's machine, as its user.`,
    )
    .argument("<dir>", "where to put the copy");
  return withStore(command).action(ending(backup));
}

export function restoreCommand(): Command {
  const command = newCommand("restore", "copy a backup into the folder of a stopped dispatcher", [
    { does: "into the configured folder", line: "yardmaster restore /backups/monday" },
    { does: "into another folder", line: "yardmaster restore --data ./restored /backups/monday" },
  ])
    .description(
      `Copies a backup into the folder of the engine, which must be empty or new. Start
the dispatcher afterwards. Tasks that ended after the backup run again.`,
    )
    .argument("<dir>", "the folder of the backup");
  return withStore(command).action(ending(restore));
}

function withStore(command: Command): Command {
  command
    .option("--config <file>", "the dispatcher's configuration file")
    .option("--data <dir>", "the folder of the engine (default: as configured)");
  return withJson(command, "print the size as JSON");
}

async function backup(dir: string, flags: Flags): Promise<number> {
  const { backupYard } = await import("@yardmaster/server");
  return report(flags, `the backup is in ${dir}`, (folder) => backupYard(folder, dir));
}

async function restore(dir: string, flags: Flags): Promise<number> {
  const { restoreYard } = await import("@yardmaster/server");
  return report(flags, "the backup is restored", (folder) => restoreYard(dir, folder));
}

async function report(
  { config, data, json }: Flags,
  done: string,
  work: (folder: string) => Promise<{ readonly bytes: number }>,
): Promise<number> {
  const { ConfigFault, loadConfig, StartFault } = await import("@yardmaster/server");
  const began = performance.now();
  try {
    const found = loadConfig({ folder: process.cwd(), file: config, data, variables: process.env });
    if (data === undefined) expectFolder(found.engine);
    const { bytes } = await work(found.data);
    if (json) printJson({ data: found.data, bytes });
    else print(`${done}: ${(bytes / 1e6).toFixed(1)} MB in ${span(performance.now() - began)}`);
    return 0;
  } catch (fault) {
    if (!(fault instanceof StartFault || fault instanceof ConfigFault)) throw fault;
    throw new CommandFault(fault.message, { cause: fault });
  }
}

/** A folder that is named by `--data` is what is meant, whatever engine is configured. */
function expectFolder(engine: string): void {
  if (engine === "embedded") return;
  const why =
    engine === "postgres"
      ? "whose tasks are in the database (back it up with Postgres' own tools)"
      : "which keeps nothing after its dispatcher has stopped";
  throw new CommandFault(`the engine is ${engine}, ${why}`);
}
