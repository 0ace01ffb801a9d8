// Starts store-process.js and collects its reports.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("./store-process.js", import.meta.url));

export interface ProcessReport {
  readonly epoch?: number;
  readonly acked?: number;
  readonly last?: number;
  readonly outcome?: { readonly type: string; readonly message: string };
  readonly fault?: string;
  readonly again?: string;
  readonly message?: string;
}

export class StoreProcess {
  readonly child: ChildProcess;
  readonly reports: ProcessReport[] = [];
  readonly #ended: Promise<unknown>;
  readonly #listeners = new Set<() => void>();

  /** `around`: a command that runs it, for example one that limits its resources. */
  constructor(folder: string, options: StoreProcessOptions = {}) {
    const { batches = 1_000_000, tasks = 3, isStepped = false, environment = {}, around = [] } = options;
    const own = [process.execPath, main, folder, `${batches}`, `${tasks}`, ...(isStepped ? ["stepped"] : [])];
    const [command = "", ...rest] = [...around, ...own];
    this.child = spawn(command, rest, {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, ...environment },
    });
    const lines = createInterface({ input: this.child.stdout as NodeJS.ReadableStream });
    lines.on("line", (line) => {
      this.reports.push(JSON.parse(line));
      for (const listener of this.#listeners) listener();
    });
    this.#ended = Promise.all([once(lines, "close"), once(this.child, "exit")]);
  }

  /** Lets a stepped process continue with its next batch. */
  step(): void {
    this.child.stdin?.write("\n");
  }

  /** The last report of this kind. */
  last<Kind extends keyof ProcessReport>(kind: Kind): ProcessReport[Kind] | undefined {
    return this.reports.findLast((each) => each[kind] !== undefined)?.[kind];
  }

  /** Resolves when there is a report that fits; rejects if the process ends before. */
  until(fits: (reports: ProcessReport) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!this.reports.some(fits)) return;
        this.#listeners.delete(look);
        resolve();
      };
      this.#listeners.add(look);
      this.#ended.then(() => {
        const { exitCode, signalCode } = this.child;
        reject(
          new Error(`it ended with ${exitCode ?? signalCode} after ${JSON.stringify(this.reports.at(-1))}`),
        );
      });
      look();
    });
  }

  async ended(): Promise<number | null> {
    await this.#ended;
    return this.child.exitCode;
  }

  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.#ended;
  }
}

export interface StoreProcessOptions {
  readonly batches?: number;
  readonly tasks?: number;
  /** It waits for `step` after each batch. */
  readonly isStepped?: boolean;
  readonly environment?: Record<string, string>;
  readonly around?: readonly string[];
}
