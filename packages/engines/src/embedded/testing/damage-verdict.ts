// What a damaged store comes to: reads it in a child process, and compares the result with a report
// of the store before the damage.

import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { StoreReport } from "./damage-reader.js";

/** The child process that reads stores, and another one after a crash. */
export class StoreReader {
  #child: ChildProcess | undefined;

  async read(folder: string): Promise<StoreReport | string> {
    const main = fileURLToPath(new URL("./damage-reader.js", import.meta.url));
    this.#child ??= fork(main, { stdio: ["ignore", "inherit", "ignore", "ipc"], execArgv: [] });
    const child = this.#child;
    return new Promise((resolve) => {
      const crashed = (code: number | null, signal: string | null) => {
        this.#child = undefined;
        resolve(`it crashed with ${signal ?? code}`);
      };
      child.once("exit", crashed);
      child.once("message", (report: StoreReport & { failed?: string }) => {
        child.off("exit", crashed);
        resolve(report.failed ?? report);
      });
      child.send(folder);
    });
  }

  end(): void {
    this.#child?.kill("SIGKILL");
  }
}

/** What is missing and was not named. */
export function silentLosses(whole: StoreReport, { held, named }: StoreReport): string[] {
  const words = named.join("\n");
  return Object.keys(whole.held).filter((name) => {
    if (held[name] === whole.held[name]) return false;
    const [, id = ""] = /^\w+ (\d+)$/.exec(name) ?? [];
    return !named.includes(name) && !isNamed(words, Number(id));
  });
}

/** True if the text names this task, alone or in a range. */
export function isNamed(words: string, id: number): boolean {
  // A tree of which nothing is left.
  if (/all that is left of (heads|progress|bundles|bodies)/.test(words)) return true;
  for (const [, first, last, onwards] of words.matchAll(/tasks? (\d+)(?: to (\d+))?( and all after it)?/g)) {
    const end = onwards === undefined ? Number(last ?? first) : Number.POSITIVE_INFINITY;
    if (id >= Number(first) && id <= end) return true;
  }
  return false;
}
