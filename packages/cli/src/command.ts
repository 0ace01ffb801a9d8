// What all commands share: how they are made, where the dispatcher is, and how mistakes are told.

import { readFileSync } from "node:fs";
import {
  ArgumentError,
  connect,
  HttpClient,
  RefusedError,
  UnsupportedError,
  type YardClient,
  YardError,
} from "@yardmaster/sdk";
import { Command, Option } from "commander";

export const version: string = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.url), "utf8"),
).version;

/** Arguments that cannot be understood: the command ends with exit code 2 and these words. */
export class UsageFault extends Error {}

/** It did not work out, in words that need no stack: exit code 1. */
export class CommandFault extends Error {}

/** What parseArgs makes of the arguments; where it throws, the words of the mistake without its advice. */
export function understood<Values>(parse: () => Values): Values {
  try {
    return parse();
  } catch (cause) {
    throw new UsageFault((cause as Error).message.replace(/\. To specify.*$/s, "."), { cause });
  }
}

/** The columns that help may take. */
export const helpWidth = 80;

export interface Example {
  readonly does: string;
  readonly line: string;
}

export function newCommand(name: string, summary: string, examples: readonly Example[]): Command {
  const shown = examples.map(({ does, line }) => `  # ${does}\n  ${line}`).join("\n\n");
  return new Command(name)
    .summary(summary)
    .description(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`)
    .helpOption("-h, --help", "print this")
    .addHelpText("after", `\nExamples:\n${shown}`);
}

/** Keeps an action's number as the exit code. */
export function ending<Arguments extends unknown[]>(
  action: (...args: Arguments) => Promise<number>,
): (...args: Arguments) => Promise<void> {
  return async (...args) => {
    process.exitCode = await action(...args);
  };
}

export const defaultUrl = "http://127.0.0.1:7420";

export interface JsonOption {
  readonly json?: boolean;
}

export interface YardOptions extends JsonOption {
  readonly url: string;
  readonly token?: string;
}

export function withJson(command: Command, what = "print JSON, one object a line"): Command {
  return command.option("--json", what);
}

export function withToken(command: Command): Command {
  return command.addOption(
    new Option("--token <token>", "of the http door, where it asks for one").env("YARD_TOKEN"),
  );
}

/** For commands that ask the http door. */
export function withYard(command: Command): Command {
  command.addOption(
    new Option("--url <url>", "where the dispatcher's http door is").env("YARD_URL").default(defaultUrl),
  );
  return withJson(withToken(command));
}

/** What the http door alone can tell. */
export async function askYard<Answer>(
  { url, token }: YardOptions,
  ask: (client: HttpClient) => Promise<Answer>,
): Promise<Answer> {
  return using(await connect(url, token === undefined ? {} : { token }), (client) => {
    if (client instanceof HttpClient) return ask(client);
    throw new UsageFault(
      `--url: ${url}: only the http door can tell that; expected a URL such as ${defaultUrl}`,
    );
  });
}

export async function using<Client extends YardClient, Answer>(
  client: Client,
  use: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function warn(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Tells a fault in words where it is the user's or the world's; the exit code. Ours comes with its stack. */
export function explain(fault: unknown, name: string): number {
  const isMistake =
    fault instanceof UsageFault ||
    fault instanceof ArgumentError ||
    fault instanceof UnsupportedError ||
    // A queue's name that cannot be one, for example: no dispatcher would take it.
    (fault instanceof RefusedError && fault.code === "bad_request");
  if (isMistake) {
    warn(`yardmaster ${name}: ${fault.message}\nyardmaster ${name} --help lists the options.`);
    return 2;
  }
  if (fault instanceof YardError) {
    const advice = adviceFor[fault.code];
    warn(`yardmaster ${name}: ${fault.message}${advice === undefined ? "" : `\n${advice}`}`);
    return 1;
  }
  if (fault instanceof CommandFault) {
    warn(`yardmaster ${name}: ${fault.message}`);
    return 1;
  }
  throw fault;
}

const adviceFor: Readonly<Record<string, string>> = {
  unreachable: "Start one with: yardmaster serve. If it is elsewhere, name its URL (or set YARD_URL).",
  unauthorized: "Give its token with --token, or set YARD_TOKEN.",
  unexpected_answer: "Is the URL that of a dispatcher's http door?",
};
