// Runs a peer of a benchmark as a process of its own and talks to it by messages.

import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";

export interface PeerProcess {
  /** The next thing it reports. */
  report(): Promise<Record<string, unknown>>;
  tell(message: object): void;
  stop(): Promise<void>;
}

export interface PeerPlace {
  readonly nodeOptions?: readonly string[];
  /** The only processor it may use, where the system has `taskset`. */
  readonly core?: number;
}

export const canPin = spawnSync("taskset", ["-c", "1", "true"]).status === 0;

/** `file` is beside this one; its arguments arrive as one JSON text. */
export function startPeer(
  file: string,
  args: object,
  { nodeOptions = [], core }: PeerPlace = {},
): PeerProcess {
  const isPinned = core !== undefined && canPin;
  const child = fork(new URL(file, import.meta.url), [JSON.stringify(args)], {
    execPath: isPinned ? "taskset" : process.execPath,
    execArgv: isPinned ? ["-c", String(core), process.execPath, ...nodeOptions] : [...nodeOptions],
  });
  const reports: Record<string, unknown>[] = [];
  let wake: () => void = () => {};
  let exited: number | null | undefined;
  child.on("message", (message) => {
    reports.push(message as Record<string, unknown>);
    wake();
  });
  child.on("exit", (code) => {
    exited = code;
    wake();
  });
  return {
    async report() {
      while (reports.length === 0) {
        if (exited !== undefined) throw new Error(`${file} ended with ${exited}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return reports.shift() as Record<string, unknown>;
    },
    tell: (message) => void child.send(message),
    stop: () => stop(child),
  };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

// What a peer process itself uses.

export function readArgs<Args>(): Args {
  return JSON.parse(process.argv[2] ?? "{}") as Args;
}

// A run that was broken off must leave no peers behind.
process.on("disconnect", () => process.exit());

export function report(message: Record<string, unknown>): void {
  process.send?.(message);
}

export function onOrder(run: (order: Record<string, unknown>) => void): void {
  process.on("message", (message) => run(message as Record<string, unknown>));
}
