// `yardmaster completion`: prints a shell completion script, generated from the same table as the
// help.

import { Argument, type Command, Option } from "commander";
import { ending, newCommand, print } from "../command.js";
import { type CommandWords, type Shell, scripts, shells } from "./completion-scripts.js";

export function completionCommand(): Command {
  return newCommand("completion", "print a script for shell completion", [
    { does: "bash, for this shell; in ~/.bashrc for all", line: 'eval "$(yardmaster completion bash)"' },
    { does: "zsh, for this shell; in ~/.zshrc for all", line: 'eval "$(yardmaster completion zsh)"' },
    { does: "fish", line: "yardmaster completion fish > ~/.config/fish/completions/yardmaster.fish" },
  ])
    .description(
      `Prints a shell completion script. It completes commands, options, their choices,
and the names of queues and doors, for which it asks the dispatcher. It works
for yardmaster and for npx yardmaster.`,
    )
    .addArgument(new Argument("<shell>", "which").choices(shells))
    .action(
      ending(async (shell: Shell, _flags: unknown, self: Command) => {
        const { options } = await import("../serve.js");
        print(scripts[shell](wordsOf(self.parent as Command, Object.entries(options).map(serveOption))));
        return 0;
      }),
    );
}

function wordsOf(program: Command, serveOptions: readonly Option[]): CommandWords[] {
  return program.commands.map((command) => ({
    name: command.name(),
    summary: command.summary(),
    options: command.name() === "serve" ? serveOptions : command.createHelp().visibleOptions(command),
  }));
}

/** `serve` parses its own arguments. */
function serveOption([name, { type }]: [string, { readonly type: string }]): Option {
  const option = new Option(type === "string" ? `--${name} <value>` : `--${name}`, name);
  return name === "engine" ? option.choices(["memory", "embedded", "postgres"]) : option;
}
