// The table of commands, and what is the same for all of them.

import { Command, CommanderError } from "commander";
import { defaultUrl, explain, helpWidth, UsageFault, version, warn } from "./command.js";
import { benchCommand } from "./commands/bench.js";
import { cancelCommand, retryCommand } from "./commands/cancel.js";
import { completionCommand } from "./commands/completion.js";
import { doctorCommand } from "./commands/doctor.js";
import { drainCommand } from "./commands/drain.js";
import { exportCommand } from "./commands/export.js";
import { queuesCommand } from "./commands/queues.js";
import { submitCommand } from "./commands/submit.js";
import { tapCommand } from "./commands/tap.js";
import { taskCommand } from "./commands/task.js";
import { tasksCommand } from "./commands/tasks.js";
import { topCommand } from "./commands/top.js";
import { workCommand } from "./commands/work.js";
import { workersCommand } from "./commands/workers.js";

export function createProgram(): Command {
  const program = new Command("yardmaster")
    .version(version, "-v, --version", "print the version")
    .helpOption("-h, --help", "print this")
    .helpCommand("help [command]", "say more of a command");
  const commands = [
    serveCommand(),
    submitCommand(),
    workCommand(),
    tasksCommand(),
    taskCommand(),
    workersCommand(),
    queuesCommand(),
    cancelCommand(),
    retryCommand(),
    drainCommand(),
    topCommand(),
    tapCommand(),
    benchCommand(),
    doctorCommand(),
    exportCommand(),
    completionCommand(),
  ];
  for (const command of commands) program.addCommand(command);
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

function overview(commands: readonly Command[]): string {
  const lines = commands.map((command) => `  ${command.name().padEnd(11)} ${command.summary()}`);
  return `yardmaster ${version}: one dispatcher for many worker protocols.

Usage: yardmaster COMMAND [options]

Commands:
${lines.join("\n")}

yardmaster COMMAND --help says more of each, with examples. --version prints the
version. The dispatcher is looked for at ${defaultUrl}, or at YARD_URL.
`;
}

/** The dispatcher is loaded only when it is asked for: a client need not pay for it. */
function serveCommand(): Command {
  return new Command("serve").summary("open the doors and dispatch").helpOption(false);
}

/** The exit code: 0 a clean end, 1 a fault, 2 a bad command. */
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

/** Without them options of the command would be taken for ours. */
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
