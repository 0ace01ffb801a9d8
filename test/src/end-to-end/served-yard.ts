// A real dispatcher in a process of its own, on free ports, for tests that look at it from outside alone.

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
  /** A folder of its own, gone when it stops. */
  readonly folder: string;
  /** Of the http door. */
  readonly url: string;
  /** The addresses of every open door, as the ready line tells them. */
  readonly doors: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Sends SIGTERM; its exit code. */
  stop(): Promise<number | null>;
  /** Ends this life and begins the next in the same folder. Its ports are others, unless they are set. */
  restart(signal: "SIGTERM" | "SIGKILL"): Promise<ServedYard>;
}

export interface Launch {
  /** Flags of Node, before the command. */
  readonly nodeArgs?: readonly string[];
  /** A command that runs the rest of its line, such as one that enters a cgroup first. */
  readonly within?: readonly string[];
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Free ports for a door that a test asks for; http is always there. */
const anywhere: Readonly<Record<string, Settings>> = {
  http: { listen: "127.0.0.1:0" },
  pingpong: { clients: "127.0.0.1:0", workers: "127.0.0.1:0" },
  pulse: { dir: "./controller" },
  // A peer that gets no processor for a moment is not given up: 10 s instead of 0.2 s.
  udp: { client_address: { port: 0 }, sends: 100, resendSeconds: 0.1 },
  monique: { in: "127.0.0.1:0", out: "127.0.0.1:0", techIn: "127.0.0.1:0", techOut: "127.0.0.1:0" },
  scaler: { listen: "127.0.0.1:0" },
};

/** `doors` names those to open beside http, with what is to be set of each; the others stay closed. */
export async function serveYard(
  { doors = {}, ...config }: { readonly doors?: Readonly<Record<string, Settings>> } & Settings = {},
  launch: Launch = {},
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
