// What all commands share: how they are built, how they find the dispatcher, and how they report
// mistakes.

import { readFileSync } from "node:fs";
import {
  ArgumentError,
  type ConnectOptions,
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

/** Invalid arguments: the command exits with 2 and this message. */
export class UsageFault extends Error {}

/** An expected failure that needs no stack trace: exit code 1. */
export class CommandFault extends Error {}

/** Runs parseArgs. If it throws, keeps the message and drops its advice. */
export function understood<Values>(parse: () => Values): Values {
  try {
    return parse();
  } catch (cause) {
    throw new UsageFault((cause as Error).message.replace(/\. To specify.*$/s, "."), { cause });
  }
}

/** Width of the help text, in columns. */
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

/** Stores an action's return value as the exit code. */
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

/** What the http door may ask for. */
export interface HttpFlags {
  readonly token?: string;
  readonly tlsCa?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}

export interface YardOptions extends JsonOption, HttpFlags {
  readonly url: string;
}

export function withJson(command: Command, what = "print JSON, one object per line"): Command {
  return command.option("--json", what);
}

export function withToken(command: Command): Command {
  return command
    .addOption(new Option("--token <token>", "token of the http door, if it requires one").env("YARD_TOKEN"))
    .addOption(
      new Option("--tls-ca <file>", "https: the authority that signed the dispatcher's certificate").env(
        "YARD_TLS_CA",
      ),
    )
    .addOption(new Option("--tls-cert <file>", "https: a client certificate").env("YARD_TLS_CERT"))
    .addOption(new Option("--tls-key <file>", "https: the key of the certificate").env("YARD_TLS_KEY"));
}

/** What to show to the http door, and whom to trust. */
export function httpCredentials({
  token,
  tlsCa: ca,
  tlsCert: cert,
  tlsKey: key,
}: HttpFlags): Pick<ConnectOptions, "token" | "tls"> {
  if ((cert === undefined) !== (key === undefined))
    throw new UsageFault("--tls-cert and --tls-key must be given together");
  const files = Object.entries({ ca, cert, key }).filter(([, file]) => file !== undefined);
  const tls = Object.fromEntries(files.map(([name, file]) => [name, fileFor(`--tls-${name}`, file ?? "")]));
  return {
    ...(token !== undefined && { token }),
    ...(files.length > 0 && { tls }),
  };
}

function fileFor(option: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new UsageFault(`${option}: ${(cause as Error).message}`, { cause });
  }
}

/** An option that may be given several times: what was given, separated by commas. */
export function gatheredUrls(): (url: string) => string {
  const urls: string[] = [];
  return (url) => {
    urls.push(url);
    return urls.join(",");
  };
}

/** Adds the options of commands that use the http door. */
export function withYard(command: Command): Command {
  command.addOption(
    new Option(
      "--url <url>",
      "URL of the dispatcher's http door; for a cluster, several with commas or --url for each",
    )
      .env("YARD_URL")
      .default(defaultUrl)
      .argParser(gatheredUrls()),
  );
  return withJson(withToken(command));
}

/** Runs a request that only the http door can answer. */
export async function askYard<Answer>(
  { url, ...flags }: YardOptions,
  ask: (client: HttpClient) => Promise<Answer>,
): Promise<Answer> {
  return using(await connect(url, httpCredentials(flags)), (client) => {
    if (client instanceof HttpClient) return ask(client);
    throw new UsageFault(
      `--url: ${url}: only the http door can answer this; expected a URL such as ${defaultUrl}`,
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

/** Explains a fault and returns the exit code. Only our own bugs print a stack trace. */
export function explain(fault: unknown, name: string): number {
  const isMistake =
    fault instanceof UsageFault ||
    fault instanceof ArgumentError ||
    fault instanceof UnsupportedError ||
    // For example an invalid queue name, which every dispatcher refuses.
    (fault instanceof RefusedError && fault.code === "bad_request");
  if (isMistake) {
    warn(`yardmaster ${name}: ${fault.message}\nyardmaster ${name} --help lists the options.`);
    return 2;
  }
  if (fault instanceof YardError) {
    const advice = adviceFor.get(fault.code);
    warn(`yardmaster ${name}: ${fault.message}${advice === undefined ? "" : `\n${advice}`}`);
    return 1;
  }
  if (fault instanceof CommandFault) {
    warn(`yardmaster ${name}: ${fault.message}`);
    return 1;
  }
  throw fault;
}

const adviceFor: ReadonlyMap<string, string> = new Map(
  Object.entries({
    unreachable: "Start one with: yardmaster serve. If it is elsewhere, name its URL (or set YARD_URL).",
    unauthorized: "Give its token with --token, or set YARD_TOKEN.",
    unexpected_answer: "Is the URL that of a dispatcher's http door?",
  }),
);
