// Runs the real command in real processes, with its own dispatcher if needed.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { closedDoors } from "@yardmaster/server";

export const bin: string = fileURLToPath(new URL("../../bin/yardmaster.js", import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
  /** The next line of standard output. */
  line(): Promise<string>;
  /** Its standard error so far. */
  complaints(): string;
  /** Resolves when standard error matches, or the process has ended. */
  complained(pattern: RegExp): Promise<void>;
  readonly ended: Promise<Ended>;
}

export interface RunOptions {
  readonly input?: string | Buffer;
  /** Standard input stays open after the input. */
  readonly isOpen?: boolean;
  readonly env?: NodeJS.ProcessEnv;
}

/** The output of a shell line at its own terminal. `answer` is typed at its first question. */
export async function atTerminal(line: string, env: NodeJS.ProcessEnv = {}, answer?: string): Promise<Ended> {
  const child = spawn("script", ["-qec", line, "/dev/null"], {
    env: { ...process.env, NO_COLOR: "", TERM: "xterm", ...env },
    stdio: [answer === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => {
    const isAsked = stdout.includes("? ");
    stdout += chunk;
    if (!isAsked && stdout.includes("? ")) child.stdin?.write(`${answer}\n`);
  });
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  const [code] = await once(child, "close");
  return { code, stdout, stderr };
}

export function withoutScript(): string | false {
  const isThere = spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0;
  return isThere ? false : "script (util-linux) does not run here";
}

export class CommandYard {
  readonly folder = mkdtempSync(join(tmpdir(), "yard-cli-"));
  readonly #children: ChildProcess[] = [];
  readonly #env: NodeJS.ProcessEnv = {};
  url = "";
  doors: Readonly<Record<string, Readonly<Record<string, string>>>> = {};

  /** Starts a dispatcher with these doors in addition to http. Commands find it by themselves. */
  async serve(doors: Readonly<Record<string, object>> = {}, settings: object = {}): Promise<this> {
    const config = {
      doors: { ...closedDoors, http: { listen: "127.0.0.1:0" }, ...doors },
      drainSeconds: 0.1,
      ...settings,
    };
    writeFileSync(join(this.folder, "yardmaster.json"), JSON.stringify(config));
    const served = this.start(["serve", "--json", "--engine", "memory"], { env: { YARD_LOG: "warn" } });
    const ready = JSON.parse(await served.line()) as { doors: CommandYard["doors"] };
    this.doors = ready.doors;
    this.url = `http://${ready.doors.http?.listen}`;
    this.#env.YARD_URL = this.url;
    return this;
  }

  start(args: readonly string[], { input, isOpen, env }: RunOptions = {}): Started {
    const child = spawn(process.execPath, [bin, ...args], {
      cwd: this.folder,
      env: { ...process.env, NO_COLOR: "", COLUMNS: "", ...this.#env, ...env },
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    this.#children.push(child);
    child.stdin?.on("error", () => {});
    if (isOpen) child.stdin?.write(input ?? "");
    else child.stdin?.end(input);
    let stdout = "";
    let stderr = "";
    child.stdout?.on("data", (chunk) => {
      stdout += chunk;
    });
    const complaints = new EventEmitter();
    child.stderr?.on("data", (chunk) => {
      stderr += chunk;
      complaints.emit("more");
    });
    child.once("close", () => complaints.emit("more"));
    // The interface's own iterator would stop reading while no line is consumed.
    const unread: string[] = [];
    const readers: ((line: string) => void)[] = [];
    createInterface({ input: child.stdout as NodeJS.ReadableStream })
      .on("line", (line) => {
        const reader = readers.shift();
        if (reader) reader(line);
        else unread.push(line);
      })
      .on("close", () => {
        for (const reader of readers) reader("");
      });
    return {
      child,
      line: () => {
        const line = unread.shift();
        return line === undefined ? new Promise((resolve) => readers.push(resolve)) : Promise.resolve(line);
      },
      complaints: () => stderr,
      complained: async (pattern) => {
        while (!pattern.test(stderr) && child.exitCode === null && child.signalCode === null)
          await once(complaints, "more");
      },
      ended: once(child, "close").then(([code]) => ({ code, stdout, stderr })),
    };
  }

  run(args: readonly string[], options?: RunOptions): Promise<Ended> {
    return this.start(args, options).ended;
  }

  /** Its output as JSON lines. It must exit with 0. */
  async json(args: readonly string[], options?: RunOptions): Promise<Record<string, unknown>[]> {
    const { code, stdout, stderr } = await this.run([...args, "--json"], options);
    if (code !== 0) throw new Error(`yardmaster ${args.join(" ")}: exit code ${code}: ${stderr}`);
    return stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  }

  file(name: string, content: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, content);
    return path;
  }

  close(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
