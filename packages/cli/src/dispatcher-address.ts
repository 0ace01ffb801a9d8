// Where a command that speaks any dialect finds the dispatcher: at --url, at a first word that is an address, at YARD_URL,
// or at the usual place, in this order.

import { dialectTable, readAddress, type YardError } from "@yardmaster/sdk";
import type { Command } from "commander";
import { defaultUrl, UsageFault } from "./command.js";

export function withAddress(command: Command): Command {
  return command.option(
    "--url <url>",
    `the dispatcher, if not the first word (default:\nYARD_URL, or ${defaultUrl})`,
  );
}

export interface Addressed {
  readonly url: string;
  /** The other words. */
  readonly words: readonly string[];
}

/** `advice` is for a first word that looks like an address and is none. */
export function addressed(words: readonly string[], url: string | undefined, advice = ""): Addressed {
  const [first = "", ...rest] = words;
  if (url !== undefined) return { url, words };
  if (!isMeantAsAddress(first)) return { url: process.env.YARD_URL || defaultUrl, words };
  try {
    readAddress(first, dialectTable);
  } catch (fault) {
    throw new UsageFault(`${(fault as YardError).message}${advice}`, { cause: fault });
  }
  return { url: first, words: rest };
}

/** A known scheme; or what would be taken for a URL by people, and had better be refused than submitted elsewhere. */
function isMeantAsAddress(word: string): boolean {
  const [, scheme = "", slashes] = /^([a-z][a-z0-9+.-]*):(\/\/?)/i.exec(word) ?? [];
  if (Object.hasOwn(dialectTable, scheme.toLowerCase()) || slashes === "//") return true;
  return /^(localhost|[\w-]+(\.[\w-]+)+|\[[\da-f:]+\]):\d{2,5}(\/|$)/i.test(word);
}
