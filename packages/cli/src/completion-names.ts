// Names that only the dispatcher knows, for the shell to complete: a line each, and nothing when it is not there. A key is
// being pressed, so this loads nothing but Node's own modules and gives up soon.

import * as http from "node:http";
import * as https from "node:https";

/** As the scripts call it. */
export const namesWord = "__names";

/** Longer than this, a terminal seems to hang. */
const patienceMs = 1_000;
/** More than anybody reads; a dispatcher may have a hundred thousand queues. */
const namesMax = 1_000;

export type NameKind = "queues" | "doors";

/** `kind`, the beginning of the word, and the line typed so far. Always exits with 0: there is nobody to be told. */
export async function printNames([kind = "", beginning = "", line = ""]: readonly string[]): Promise<number> {
  try {
    const names = await namesOf(kind as NameKind, line);
    const fitting = names.filter((name) => name.startsWith(beginning)).slice(0, namesMax);
    process.stdout.write(fitting.map((name) => `${name}\n`).join(""));
  } catch {
    // No dispatcher, or none that answers.
  }
  return 0;
}

async function namesOf(kind: NameKind, line: string): Promise<string[]> {
  if (kind === "doors") return Object.keys((await ask("/v1/doors", line)) as object);
  const { items } = (await ask("/v1/queues", line)) as { items: readonly { readonly name: string }[] };
  return items.map(({ name }) => name);
}

function ask(path: string, line: string): Promise<unknown> {
  const url = new URL(urlIn(line));
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
        resolve(JSON.parse(body));
      } catch (fault) {
        reject(fault);
      }
    });
    request.on("error", reject);
  });
}

/** As the command itself would look for it, as far as it can be known before the line is complete. */
function urlIn(line: string): string {
  const [first] = /(?<=\s)https?:\/\/[^\s'"]+/.exec(line) ?? [];
  return optionIn(line, "url") ?? first ?? (process.env.YARD_URL || "http://127.0.0.1:7420");
}

function optionIn(line: string, name: string): string | undefined {
  return new RegExp(`\\s--${name}[\\s=]+['"]?([^\\s'"]+)`).exec(line)?.[1];
}
