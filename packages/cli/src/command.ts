// What a command is to the table of commands, and how all of them tell bad arguments.

import { readFileSync } from "node:fs";

export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Resolves with the exit code. */
  run(args: readonly string[]): Promise<number>;
}

export const version: string = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.url), "utf8"),
).version;

/** Arguments that cannot be understood: the command ends with exit code 2 and these words. */
export class UsageFault extends Error {}

/** What parseArgs makes of the arguments; where it throws, the words of the mistake without its advice. */
export function understood<Values>(parse: () => Values): Values {
  try {
    return parse();
  } catch (cause) {
    throw new UsageFault((cause as Error).message.replace(/\. To specify.*$/s, "."), { cause });
  }
}
