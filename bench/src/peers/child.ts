// Runs a peer of a benchmark as a separate process and exchanges messages with it.

import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";

export interface PeerProcess {
  /** The next report of the peer. */
  report(): Promise<Record<string, unknown>>;
  tell(message: object): void;
  stop(): Promise<void>;
}

export interface PeerPlace {
  readonly nodeOptions?: readonly string[];
  /** The only processor that it may use, if the system has `taskset`. */
  readonly core?: number;
}

export const canPin = spawnSync("taskset", ["-c", "1", "true"]).status === 0;

/** `file` is next to this one; its arguments are passed as one JSON text. */
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

// Functions for the peer process itself.

export function readArgs<Args>(): Args {
  return JSON.parse(process.argv[2] ?? "{}") as Args;
}

// An interrupted run must leave no peers behind.
process.on("disconnect", () => process.exit());

export function report(message: Record<string, unknown>): void {
  process.send?.(message);
}

export function onOrder(run: (order: Record<string, unknown>) => void): void {
  process.on("message", (message) => run(message as Record<string, unknown>));
}

/** Processor time of this process since the last call. */
export function cpuMicros(): number {
  const { user, system } = process.cpuUsage(cpuBefore);
  cpuBefore = process.cpuUsage();
  return user + system;
}

let cpuBefore = process.cpuUsage();

/** For a server: each message asks how much it has used since the last. */
export function cpuOnOrder(): void {
  onOrder(() => report({ cpuMicros: cpuMicros() }));
}
