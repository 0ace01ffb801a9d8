// The query parameters of a dialect's URL. An unknown name is refused, because a misspelt setting
// would silently have its default.

import type { YardAddress } from "./address.js";
import { ArgumentError } from "./errors.js";

type Parametered = Pick<YardAddress, "url" | "parameters">;

export function refuseUnknown({ url, parameters }: Parametered, known: readonly string[]): void {
  for (const name of parameters.keys()) {
    if (known.includes(name)) continue;
    const names = known.length === 0 ? "none" : known.join(", ");
    throw new ArgumentError("bad_url", `${url}: ${name} is not a parameter here: expected ${names}`);
  }
}

export function choiceIn<Choice extends string>(
  { url, parameters }: Parametered,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const written = parameters.get(name);
  if (written === null) return undefined;
  const choice = choices.find((candidate) => candidate === written);
  if (choice !== undefined) return choice;
  throw mistake(url, name, written, choices.join(" or "));
}

/** A whole number from 1. */
export function countIn({ url, parameters }: Parametered, name: string): number | undefined {
  const written = parameters.get(name);
  if (written === null) return undefined;
  if (/^[1-9]\d{0,8}$/.test(written)) return Number(written);
  throw mistake(url, name, written, "a whole number from 1");
}

const unitMs = new Map(Object.entries({ ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }));

/** `500ms`, `30s`, `5m`, `1h`, in milliseconds. */
export function durationMsIn({ url, parameters }: Parametered, name: string): number | undefined {
  const written = parameters.get(name);
  if (written === null) return undefined;
  const [, amount, unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(written) ?? [];
  const ms = Math.round(Number(amount) * (unitMs.get(unit) ?? 0));
  if (ms > 0) return ms;
  throw mistake(url, name, written, "a duration such as 500ms, 30s, 5m or 1h");
}

function mistake(url: string, name: string, written: string, expected: string): ArgumentError {
  return new ArgumentError("bad_url", `${url}: ${name}: found ${written}, expected ${expected}`);
}
