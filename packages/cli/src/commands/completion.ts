// `yardmaster completion`: scripts that let a shell complete commands, options and their choices. They are made from the
// same table as the help.

import { Argument, type Command, Option } from "commander";
import { ending, newCommand, print } from "../command.js";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

export function completionCommand(): Command {
  return newCommand("completion", "print a script for shell completion", [
    { does: "bash, for this shell; in ~/.bashrc for all", line: 'eval "$(yardmaster completion bash)"' },
    { does: "zsh, in ~/.zshrc after compinit", line: 'eval "$(yardmaster completion zsh)"' },
    { does: "fish", line: "yardmaster completion fish > ~/.config/fish/completions/yardmaster.fish" },
  ])
    .addArgument(new Argument("<shell>", "which").choices(shells))
    .action(
      ending(async (shell: Shell, _flags: unknown, self: Command) => {
        const { options } = await import("../serve.js");
        print(scripts[shell](wordsOf(self.parent as Command, Object.entries(options).map(serveOption))));
        return 0;
      }),
    );
}

interface CommandWords {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly Option[];
}

function wordsOf(program: Command, serveOptions: readonly Option[]): CommandWords[] {
  return program.commands.map((command) => ({
    name: command.name(),
    summary: command.summary(),
    options: command.name() === "serve" ? serveOptions : command.createHelp().visibleOptions(command),
  }));
}

/** `serve` reads its own arguments. */
function serveOption([name, { type }]: [string, { readonly type: string }]): Option {
  const option = new Option(type === "string" ? `--${name} <value>` : `--${name}`, name);
  return name === "engine" ? option.choices(["memory", "embedded"]) : option;
}

function flagsOf({ short, long }: Option): string[] {
  return [short, long].filter((flag) => flag !== undefined && flag !== null) as string[];
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

const scripts: Readonly<Record<Shell, (commands: readonly CommandWords[]) => string>> = {
  bash: (commands) => {
    const cases = commands.map(
      ({ name, options }) => `    ${name}) words="${options.flatMap(flagsOf).join(" ")}" ;;`,
    );
    const choices = commands.flatMap(({ name, options }) => {
      return options
        .filter(({ argChoices }) => argChoices)
        .map(
          (one) =>
            `    ${flagsOf(one)
              .map((flag) => `${name}:${flag}`)
              .join("|")}) words="${one.argChoices?.join(" ")}" ;;`,
        );
    });
    const files = commands.flatMap(({ name, options }) => {
      return options.filter(isFile).flatMap((one) => flagsOf(one).map((flag) => `${name}:${flag}`));
    });
    return `# bash completion of yardmaster
_yardmaster() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="\${COMP_WORDS[1]}" words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(" ")} --help --version" -- "$current"))
    return
  fi
  case "$command:$previous" in
${choices.join("\n")}
    completion:completion) words="${shells.join(" ")}" ;;
    ${files.join("|")}) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  if [ -z "$words" ]; then case "$command" in
${cases.join("\n")}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _yardmaster yardmaster`;
  },

  zsh: (commands) => {
    const list = commands.map(({ name, summary }) => `    '${name}:${zshText(summary)}'`);
    const cases = commands.map(({ name, options }) => {
      const specs = options.map((one) => `'${zshSpec(one)}'`);
      const rest = name === "completion" ? `'1:shell:(${shells.join(" ")})'` : "'*::argument:_files'";
      return `    ${name}) _arguments -S ${[...specs, rest].join(" ")} ;;`;
    });
    return `#compdef yardmaster
# zsh completion of yardmaster
_yardmaster() {
  local -a commands
  commands=(
${list.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join("\n")}
  esac
}
compdef _yardmaster yardmaster`;
  },

  fish: (commands) => {
    const lines = commands.flatMap(({ name, summary, options }) => [
      `complete -c yardmaster -n __fish_use_subcommand -f -a ${name} -d ${fishText(summary)}`,
      ...options.map(
        (one) => `complete -c yardmaster -n '__fish_seen_subcommand_from ${name}' ${fishSpec(one)}`,
      ),
    ]);
    return [
      "# fish completion of yardmaster",
      ...lines,
      `complete -c yardmaster -n '__fish_seen_subcommand_from completion' -f -a '${shells.join(" ")}'`,
    ].join("\n");
  },
};

function isFile({ long }: Option): boolean {
  return ["--file", "--output", "--config", "--data"].includes(long ?? "");
}

function zshText(text: string): string {
  return text.replace(/'/g, "'\\''").replace(/[[\]:]/g, "\\$&");
}

function zshSpec(option: Option): string {
  const flags = flagsOf(option);
  const named = flags.length > 1 ? `(${flags.join(" ")})'{${flags.join(",")}}'` : (flags[0] ?? "");
  const values = option.argChoices ? `(${option.argChoices.join(" ")})` : isFile(option) ? "_files" : " ";
  return `${named}[${zshText(option.description)}]${takesValue(option) ? `:value:${values}` : ""}`;
}

function fishText(text: string): string {
  return `'${text.replace(/\\/g, "\\\\").replace(/'/g, "\\'")}'`;
}

function fishSpec(option: Option): string {
  const { short, long, argChoices, description } = option;
  return [
    short ? `-s ${short.slice(1)}` : "",
    long ? `-l ${long.slice(2)}` : "",
    takesValue(option) ? "-r" : "",
    argChoices ? `-f -a '${argChoices.join(" ")}'` : "",
    `-d ${fishText(description)}`,
  ]
    .filter((part) => part !== "")
    .join(" ");
}
