// The table of commands, and their common options.

import { Command, CommanderError } from "commander";
import { defaultUrl, explain, helpWidth, UsageFault, version, warn } from "./command.js";
import { backupCommand, restoreCommand } from "./commands/backup.js";
import { benchCommand } from "./commands/bench.js";
import { purgeCommand } from "./commands/bulk.js";
import { cancelCommand, retryCommand } from "./commands/cancel.js";
import { clusterCommand } from "./commands/cluster.js";
import { completionCommand } from "./commands/completion.js";
import { configCommand, initCommand } from "./commands/config.js";
import { curveKeypairCommand } from "./commands/curve-keypair.js";
import { demoCommand } from "./commands/demo.js";
import { doctorCommand } from "./commands/doctor.js";
import { drainCommand } from "./commands/drain.js";
import { exportCommand } from "./commands/export.js";
import { importCommand } from "./commands/import.js";
import { migrateCommand } from "./commands/migrate.js";
import { queueCommand } from "./commands/queue.js";
import { queuesCommand } from "./commands/queues.js";
import { schedulesCommand } from "./commands/schedules.js";
import { submitCommand } from "./commands/submit.js";
import { tapCommand } from "./commands/tap.js";
import { taskCommand } from "./commands/task.js";
import { tasksCommand } from "./commands/tasks.js";
import { tokenCommand } from "./commands/token.js";
import { topCommand } from "./commands/top.js";
import { workCommand } from "./commands/work.js";
import { workersCommand } from "./commands/workers.js";

export function createProgram(): Command {
  const program = new Command("yardmaster")
    .version(version, "-v, --version", "print the version")
    .helpOption("-h, --help", "print this")
    .helpCommand("help [command]", "show the help of a command");
  const commands = [
    serveCommand(),
    initCommand(),
    configCommand(),
    demoCommand(),
    submitCommand(),
    workCommand(),
    tasksCommand(),
    taskCommand(),
    workersCommand(),
    queuesCommand(),
    queueCommand(),
    schedulesCommand(),
    cancelCommand(),
    retryCommand(),
    purgeCommand(),
    drainCommand(),
    clusterCommand(),
    topCommand(),
    tapCommand(),
    benchCommand(),
    doctorCommand(),
    exportCommand(),
    importCommand(),
    backupCommand(),
    restoreCommand(),
    migrateCommand(),
    tokenCommand(),
    curveKeypairCommand(),
    completionCommand(),
  ];
  for (const command of commands) program.addCommand(command.description(filled(command.description())));
  for (const command of [program, ...commands]) {
    command
      .exitOverride()
      .configureHelp({ helpWidth, showGlobalOptions: false })
      .configureOutput({
        outputError: () => {},
        getOutHelpWidth: () => helpWidth,
        getErrHelpWidth: () => helpWidth,
      });
  }
  program.configureHelp({ helpWidth, formatHelp: () => overview(commands) });
  return program;
}

/**
 * Joins the lines of each paragraph, because the help wraps them itself. A paragraph with columns
 * keeps its lines.
 */
function filled(text: string): string {
  const paragraphs = text.split("\n\n");
  return paragraphs.map((lines) => (/\S {2}/.test(lines) ? lines : lines.replaceAll("\n", " "))).join("\n\n");
}

function overview(commands: readonly Command[]): string {
  const lines = commands.map((command) => `  ${command.name().padEnd(13)} ${command.summary()}`);
  return `yardmaster ${version}: one dispatcher for many worker protocols.

Usage: yardmaster COMMAND [options]

Commands:
${lines.join("\n")}

yardmaster COMMAND --help describes one command, with examples.
yardmaster --version prints the version.
Commands connect to ${defaultUrl}, or to YARD_URL if it is set.
`;
}

/** Loads the dispatcher only on demand, so that client commands start quickly. */
function serveCommand(): Command {
  return new Command("serve").summary("open the doors and dispatch").helpOption(false);
}

/** Returns the exit code: 0 for success, 1 for a fault, 2 for bad arguments. */
export async function run(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args[0] === "help" && args[1] === "serve" ? ["serve", "--help"] : args;
  if (name === "serve") return (await import("./serve.js")).serveCommand.run(rest);
  const program = createProgram();
  if (name === undefined) {
    process.stderr.write(program.helpInformation());
    return 2;
  }
  try {
    process.exitCode = 0;
    if (name === "work") expectDashes(rest);
    await program.parseAsync([...args], { from: "user" });
    return Number(process.exitCode);
  } catch (fault) {
    if (fault instanceof CommanderError) return badCommand(fault, program, name);
    return explain(fault, name);
  }
}

/** Without dashes, options of the program would be taken for ours. */
function expectDashes(args: readonly string[]): void {
  if (args.includes("--") || args.includes("--help") || args.includes("-h")) return;
  throw new UsageFault("what to run comes after --: yardmaster work URL [options] -- command…");
}

function badCommand({ code, message }: CommanderError, program: Command, name: string): number {
  if (code === "commander.helpDisplayed" || code === "commander.help" || code === "commander.version")
    return 0;
  const isCommand = program.commands.some((command) => command.name() === name);
  const words = message.replace(/^error: /, "");
  if (isCommand) warn(`yardmaster ${name}: ${words}\nyardmaster ${name} --help lists the options.`);
  else
    warn(
      `yardmaster: ${words.replace(/^unknown command '(.*?)'/, 'there is no command "$1".')}\n\n${program.helpInformation().trimEnd()}`,
    );
  return 2;
}
