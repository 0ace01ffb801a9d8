// Prints names that only the dispatcher knows, for shell completion: one per line, and nothing when
// it is unreachable. The user is waiting for a key press, so this loads only Node's own modules and
// gives up soon.

import * as http from "node:http";
import * as https from "node:https";

/** The word by which the scripts call it. */
export const namesWord = "__names";

/** After a longer wait a terminal seems to hang. */
const patienceMs = 1_000;
/** More than people read; a dispatcher may have ten thousand queues. */
const namesMax = 1_000;

export type NameKind = "queues" | "doors";

/**
 * Arguments: the kind, the beginning of the word, and the line so far. Always exits with 0, because
 * a completion cannot report an error.
 */
export async function printNames([kind = "", beginning = "", line = ""]: readonly string[]): Promise<number> {
  try {
    const names = await namesOf(kind as NameKind, line);
    const fitting = names.filter((name) => name.startsWith(beginning)).slice(0, namesMax);
    process.stdout.write(fitting.map((name) => `${name}\n`).join(""));
  } catch {
    // No dispatcher answered.
  }
  return 0;
}

async function namesOf(kind: NameKind, line: string): Promise<string[]> {
  if (kind === "doors") return Object.keys((await ask("/v1/doors", line)) as object);
  const { items } = (await ask("/v1/queues", line)) as { items: readonly { readonly name: string }[] };
  return items.map(({ name }) => name);
}

/** The answer of the first dispatcher that owns the yard. */
async function ask(path: string, line: string): Promise<unknown> {
  const asked = urlIn(line)
    .split(",")
    .map((url) => askAt(new URL(url), path, line));
  return Promise.any(asked);
}

function askAt(url: URL, path: string, line: string): Promise<unknown> {
  const token = optionIn(line, "token") ?? process.env.YARD_TOKEN ?? decodeURIComponent(url.password);
  const options = {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? (url.protocol === "https:" ? 443 : 7420) : Number(url.port),
    path: `${url.pathname.replace(/\/+$/, "")}${path}`,
    signal: AbortSignal.timeout(patienceMs),
    headers: token === "" ? {} : { Authorization: `Bearer ${token}` },
  };
  const { get } = url.protocol === "https:" ? https : http;
  return new Promise((resolve, reject) => {
    const request = get(options, async (response) => {
      try {
        let body = "";
        for await (const chunk of response.setEncoding("utf8")) body += chunk;
        if (response.statusCode === 200) resolve(JSON.parse(body));
        else reject(new Error(`status ${response.statusCode}`));
      } catch (fault) {
        reject(fault);
      }
    });
    request.on("error", reject);
  });
}

/** Finds the dispatcher as the command itself would, as far as the incomplete line shows it. */
function urlIn(line: string): string {
  const [first] = /(?<=\s)https?:\/\/[^\s'"]+/.exec(line) ?? [];
  return optionIn(line, "url") ?? first ?? (process.env.YARD_URL || "http://127.0.0.1:7420");
}

function optionIn(line: string, name: string): string | undefined {
  return new RegExp(`\\s--${name}[\\s=]+['"]?([^\\s'"]+)`).exec(line)?.[1];
}
