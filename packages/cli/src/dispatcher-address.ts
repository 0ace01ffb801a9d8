// How commands for any dialect find the dispatcher: --url, else a first word that is an address,
// else YARD_URL, else the default address.

import { dialectTable, readAddresses, type YardError } from "@yardmaster/sdk";
import type { Command } from "commander";
import { defaultUrl, gatheredUrls, UsageFault } from "./command.js";

export function withAddress(command: Command): Command {
  return command.option(
    "--url <url>",
    `the dispatcher, if it is not the first word (default: YARD_URL, or ${defaultUrl}); for a cluster, several with commas or --url for each`,
    gatheredUrls(),
  );
}

export interface Addressed {
  readonly url: string;
  /** The other words. */
  readonly words: readonly string[];
}

/** `advice`: added to the error for a first word that only looks like an address. */
export function addressed(words: readonly string[], url: string | undefined, advice = ""): Addressed {
  const [first = "", ...rest] = words;
  if (url !== undefined) return { url, words };
  if (!isMeantAsAddress(first)) return { url: process.env.YARD_URL || defaultUrl, words };
  try {
    readAddresses(first, dialectTable);
  } catch (fault) {
    throw new UsageFault(`${(fault as YardError).message}${advice}`, { cause: fault });
  }
  return { url: first, words: rest };
}

/**
 * A known scheme, or a word that people would take for a URL: refusing it is better than submitting
 * it elsewhere.
 */
function isMeantAsAddress(word: string): boolean {
  const [, scheme = "", slashes] = /^([a-z][a-z0-9+.-]*):(\/\/?)/i.exec(word) ?? [];
  if (Object.hasOwn(dialectTable, scheme.toLowerCase()) || slashes === "//") return true;
  return /^(localhost|[\w-]+(\.[\w-]+)+|\[[\da-f:]+\]):\d{2,5}(\/|$)/i.test(word);
}
