// A real dispatcher in its own process, on free ports, for tests that only use it from outside.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));

type Settings = Readonly<Record<string, unknown>>;

export interface ServedYard {
  readonly process: ChildProcess;
  /** Its temporary folder, which is removed when it stops. */
  readonly folder: string;
  /** URL of the http door. */
  readonly url: string;
  /** The addresses of every open door, from the ready line. */
  readonly doors: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number | null>;
  /**
   * Ends the process and starts the next in the same folder. Its ports differ unless they are set.
   */
  restart(signal: "SIGTERM" | "SIGKILL"): Promise<ServedYard>;
}

export interface Launch {
  /** Node flags before the command. */
  readonly nodeArgs?: readonly string[];
  /** A command that runs the rest of its line, for example one that enters a cgroup first. */
  readonly within?: readonly string[];
  /** Environment variables in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Runs it in its own session. Linux divides processor time among sessions first, so our other
   * processes take less of its time.
   */
  readonly isOutOfLine?: boolean;
}

/** Free ports for each door that a test requests; http is always open. */
const anywhere: Readonly<Record<string, Settings>> = {
  http: { listen: "127.0.0.1:0" },
  pingpong: { clients: "127.0.0.1:0", workers: "127.0.0.1:0" },
  pulse: { dir: "./controller" },
  // Resends for 10 s instead of 0.2 s, so that a peer without processor time for a moment is not
  // given up.
  udp: { client_address: { port: 0 }, sends: 100, resendSeconds: 0.1 },
  monique: { in: "127.0.0.1:0", out: "127.0.0.1:0", techIn: "127.0.0.1:0", techOut: "127.0.0.1:0" },
  scaler: { listen: "127.0.0.1:0" },
};

/**
 * `doors` lists the doors to open in addition to http, with their settings. The others stay closed.
 * `files` are written to its folder first.
 */
export async function serveYard(
  { doors = {}, ...config }: { readonly doors?: Readonly<Record<string, Settings>> } & Settings = {},
  launch: Launch = {},
  files: Readonly<Record<string, string>> = {},
): Promise<ServedYard> {
  const folder = mkdtempSync(join(tmpdir(), "yard-"));
  const opened = Object.entries(anywhere).map(([name, listen]) => {
    const settings = name === "http" ? (doors[name] ?? {}) : doors[name];
    return [name, settings === undefined ? false : { ...listen, ...settings }];
  });
  writeFileSync(
    join(folder, "yardmaster.json"),
    JSON.stringify({ doors: Object.fromEntries(opened), drainSeconds: 1, ...config }),
  );
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  return serveFolder(folder, launch);
}

async function serveFolder(folder: string, launch: Launch): Promise<ServedYard> {
  const [command = "", ...args] = [
    ...(launch.within ?? []),
    process.execPath,
    ...(launch.nodeArgs ?? []),
    ...[bin, "serve", "--json"],
  ];
  const child = spawn(command, args, {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...launch.env },
    detached: launch.isOutOfLine === true,
  });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ready = JSON.parse(String((await lines.next()).value)) as Pick<ServedYard, "doors">;
  return {
    process: child,
    folder,
    url: `http://${ready.doors.http?.listen}`,
    doors: ready.doors,
    async stop() {
      child.kill("SIGTERM");
      const [code] = await ended;
      rmSync(folder, { recursive: true });
      return code as number | null;
    },
    async restart(signal) {
      child.kill(signal);
      await ended;
      return serveFolder(folder, launch);
    },
  };
}
