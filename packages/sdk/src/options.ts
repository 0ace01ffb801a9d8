// Checks of the options that a caller gives. A misspelt one must not be ignored: it would silently
// have its default.

import type { ConnectOptions, ResultOptions } from "./client.js";
import { ArgumentError } from "./errors.js";
import type { WorkOptions } from "./worker.js";

export const resultOptions: readonly (keyof ResultOptions)[] = ["signal", "waitMs"];

export const connectOptions: readonly (keyof ConnectOptions)[] = [
  "token",
  "tls",
  "security",
  "submitDelayMs",
];

export const workOptions: readonly (keyof WorkOptions)[] = [
  "queue",
  "queues",
  "concurrency",
  "name",
  "token",
  "tls",
  "security",
  "leaseMs",
  "beats",
  "timeoutMs",
  "onContact",
  "onError",
];

/** Throws an ArgumentError for an option that does not exist. */
export function refuseUnknownOptions(what: string, options: object, known: readonly string[]): void {
  for (const name in options) {
    if (known.includes(name)) continue;
    const names = known.join(", ");
    throw new ArgumentError("bad_argument", `${name} is not an option of ${what}; known: ${names}`);
  }
}

/** Throws an ArgumentError for a time in milliseconds that is negative or no number. */
export function checkTimes(times: Readonly<Record<string, number | undefined>>): void {
  for (const [name, ms] of Object.entries(times)) {
    if (ms === undefined || (Number.isFinite(ms) && ms >= 0)) continue;
    throw new ArgumentError("bad_argument", `${name}: found ${ms}, expected milliseconds from 0`);
  }
}
