// Shell scripts that complete commands, options, their choices, and names that the dispatcher
// knows. They also complete `npx yardmaster …`, because a clone is used like that.

import { fileURLToPath } from "node:url";
import type { Option } from "commander";
import { type NameKind, namesWord } from "../completion-names.js";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

export interface CommandWords {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly Option[];
}

function flagsOf({ short, long }: Option): string[] {
  return [short, long].filter((flag) => flag !== undefined && flag !== null) as string[];
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

function isFile({ long }: Option): boolean {
  return ["--file", "--output", "--config", "--data"].includes(long ?? "");
}

/** The kind of name to ask the dispatcher for as the value of an option. */
function namesFor({ long }: Option): NameKind | undefined {
  if (["--queue", "--pause", "--resume"].includes(long ?? "")) return "queues";
  return long === "--door" ? "doors" : undefined;
}

const bin = fileURLToPath(new URL("../../bin/yardmaster.js", import.meta.url));

function quoted(text: string): string {
  return `'${text.replace(/'/g, "'\\''")}'`;
}

/** An absolute path: a clone has no `yardmaster` in PATH, and npx takes a second to start. */
const askNames = `${quoted(process.execPath)} ${quoted(bin)} ${namesWord}`;

export const scripts: Readonly<Record<Shell, (commands: readonly CommandWords[]) => string>> = {
  bash: (commands) => {
    const flagged = (fits: (option: Option) => boolean) =>
      commands.flatMap(({ name, options }) =>
        options.filter(fits).flatMap((one) => flagsOf(one).map((flag) => `${name}:${flag}`)),
      );
    const cases = commands.map(
      ({ name, options }) => `    ${name}) words="${options.flatMap(flagsOf).join(" ")}" ;;`,
    );
    const choices = commands.flatMap(({ name, options }) =>
      options
        .filter(({ argChoices }) => argChoices)
        .map((one) => {
          const flags = flagsOf(one).map((flag) => `${name}:${flag}`);
          return `    ${flags.join("|")}) words="${one.argChoices?.join(" ")}" ;;`;
        }),
    );
    const asked = (["queues", "doors"] as const).map((kind) => {
      const flags = flagged((option) => namesFor(option) === kind).join("|");
      return `    ${flags}) words="$(${askNames} ${kind} "$current" "$COMP_LINE" 2> /dev/null)"; [ -n "$words" ] || return ;;`;
    });
    return `# bash completion of yardmaster
_yardmaster() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words="" at=0
  COMPREPLY=()
  if [ "\${COMP_WORDS[0]##*/}" = npx ]; then
    at=1
    while [ "$at" -lt "$COMP_CWORD" ] && [[ "\${COMP_WORDS[at]}" == -* ]]; do at=$((at + 1)); done
    if [ "$at" -eq "$COMP_CWORD" ]; then
      COMPREPLY=($(compgen -W yardmaster -- "$current"))
      return
    fi
    if [ "\${COMP_WORDS[at]}" != yardmaster ]; then
      if [ -n "$_yardmaster_npx" ]; then "$_yardmaster_npx" "$@"; fi
      return
    fi
  fi
  local command="\${COMP_WORDS[at + 1]}"
  if [ "$((COMP_CWORD - at))" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(" ")} --help --version" -- "$current"))
    return
  fi
  # bash takes --option=value for three words.
  if [ "$current" = "=" ]; then
    current=""
  elif [ "$previous" = "=" ]; then
    previous="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  case "$command:$previous" in
${choices.join("\n")}
    completion:completion) words="${shells.join(" ")}" ;;
${asked.join("\n")}
    ${flagged(isFile).join("|")}) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  if [ -z "$words" ]; then case "$command" in
${cases.join("\n")}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
_yardmaster_npx="$(complete -p npx 2> /dev/null | sed -n 's/.*-F \\([^ ]*\\).*/\\1/p')"
if [ "$_yardmaster_npx" = _yardmaster ]; then _yardmaster_npx=""; fi
complete -o default -F _yardmaster yardmaster npx`;
  },

  zsh: (commands) => {
    const list = commands.map(({ name, summary }) => `    '${name}:${zshText(summary)}'`);
    const cases = commands.map(({ name, options }) => {
      const specs = options.map((one) => `'${zshSpec(one)}'`);
      const rest = name === "completion" ? `'1:shell:(${shells.join(" ")})'` : "'*::argument:_files'";
      return `    ${name}) _arguments -S ${[...specs, rest].join(" ")} ;;`;
    });
    return `#compdef yardmaster npx
# zsh completion of yardmaster
_yardmaster_names() {
  local -a names
  names=(\${(f)"$(${askNames} "$1" "$PREFIX" "\${_yardmaster_line[*]}" 2> /dev/null)"})
  compadd -a names
}
_yardmaster() {
  if [[ "\${words[1]:t}" == npx ]]; then
    integer at=2
    while (( at < CURRENT )) && [[ "$words[at]" == -* ]]; do (( at++ )); done
    if (( at == CURRENT )); then
      compadd yardmaster
      return
    fi
    if [[ "$words[at]" != yardmaster ]]; then
      "$_yardmaster_npx"
      return
    fi
    shift $(( at - 1 )) words
    (( CURRENT -= at - 1 ))
  fi
  local -a commands _yardmaster_line
  _yardmaster_line=($words)
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
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
[[ "\${_comps[npx]}" == _yardmaster ]] || typeset -g _yardmaster_npx="\${_comps[npx]:-_default}"
compdef _yardmaster yardmaster npx`;
  },

  fish: (commands) => {
    const lines = commands.flatMap(({ name, summary, options }) => [
      `-n '__yardmaster_at' -f -a ${name} -d ${fishText(summary)}`,
      ...options.map((one) => `-n '__yardmaster_at ${name}' ${fishSpec(one)}`),
    ]);
    lines.push(`-n '__yardmaster_at completion' -f -a '${shells.join(" ")}'`);
    return `# fish completion of yardmaster
function __yardmaster_names
  ${askNames} $argv[1] (commandline -ct | string replace -r '^--[a-z]+=' '') (commandline -cp) 2> /dev/null
end
# Whether the command typed so far is this one, or none where no argument is given.
function __yardmaster_at
  set -l words (commandline -opc)
  if string match -qr '(^|/)npx$' -- $words[1]
    set -e words[1]
    while string match -q -- '-*' $words[1]
      set -e words[1]
    end
    test "$words[1]" = yardmaster; or return 1
  end
  if test (count $argv) -eq 0
    test (count $words) -eq 1
  else
    test "$words[2]" = "$argv[1]"
  end
end
complete -c npx -n 'test (count (commandline -opc)) -eq 1' -a yardmaster
${lines.flatMap((line) => [`complete -c yardmaster ${line}`, `complete -c npx ${line}`]).join("\n")}`;
  },
};

function zshText(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .replace(/'/g, "'\\''")
    .replace(/[[\]:]/g, "\\$&");
}

function zshSpec(option: Option): string {
  const flags = flagsOf(option);
  const named = flags.length > 1 ? `(${flags.join(" ")})'{${flags.join(",")}}'` : (flags[0] ?? "");
  return `${named}[${zshText(option.description)}]${takesValue(option) ? `:value:${zshValues(option)}` : ""}`;
}

function zshValues(option: Option): string {
  const asked = namesFor(option);
  if (option.argChoices) return `(${option.argChoices.join(" ")})`;
  if (asked) return `{_yardmaster_names ${asked}}`;
  return isFile(option) ? "_files" : " ";
}

function fishText(text: string): string {
  return `'${text.replace(/\s+/g, " ").replace(/\\/g, "\\\\").replace(/'/g, "\\'")}'`;
}

function fishSpec(option: Option): string {
  const { short, long, argChoices, description } = option;
  const asked = namesFor(option);
  return [
    short ? `-s ${short.slice(1)}` : "",
    long ? `-l ${long.slice(2)}` : "",
    takesValue(option) ? "-r" : "",
    argChoices ? `-f -a '${argChoices.join(" ")}'` : "",
    asked ? `-f -a '(__yardmaster_names ${asked})'` : "",
    `-d ${fishText(description)}`,
  ]
    .filter((part) => part !== "")
    .join(" ");
}
