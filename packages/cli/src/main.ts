// The yardmaster command: finds the command that was asked for and ends with its exit code.
// 0 is a clean end, 1 a fault, 2 a bad command or config.

import { type Command, version } from "./command.js";
import { serveCommand } from "./serve.js";

const commands: readonly Command[] = [serveCommand];

const [name, ...args] = process.argv.slice(2);
// Not left to the event loop: after a fault there may still be open doors, and nobody behind them.
process.exit(await run(name, args));

async function run(name: string | undefined, args: readonly string[]): Promise<number> {
  if (name === undefined) {
    console.error(help());
    return 2;
  }
  if (name === "--help" || name === "-h" || name === "help") {
    console.log(help());
    return 0;
  }
  if (name === "--version" || name === "-v") {
    console.log(version);
    return 0;
  }
  const command = commands.find((candidate) => candidate.name === name);
  if (command) return command.run(args);
  console.error(`yardmaster: there is no command ${JSON.stringify(name)}.\n\n${help()}`);
  return 2;
}

function help(): string {
  const lines = commands.map((command) => `  ${command.name.padEnd(10)} ${command.summary}`);
  return `yardmaster ${version}: one dispatcher for many worker protocols.

Usage: yardmaster COMMAND [options]

Commands:
${lines.join("\n")}

yardmaster COMMAND --help says more of each.`;
}
