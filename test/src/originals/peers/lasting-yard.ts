// A real dispatcher that is killed or stopped and started again, with the same ports and data.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../../../../packages/cli/bin/yardmaster.js", import.meta.url));
const dialects = ["pingpong", "pulse", "udp", "monique", "scaler"] as const;

type Doors = Readonly<Record<string, unknown>>;
type Addresses = Readonly<Record<string, Readonly<Record<string, string>>>>;

export class LastingYard {
  readonly #folder = mkdtempSync(join(tmpdir(), "yard-"));
  #child: ChildProcess | undefined;
  doors: Addresses = {};

  /** `doors` are those to open in addition to http. Their ports are set in `doors` afterwards. */
  async start(doors: Doors): Promise<Addresses> {
    const closed = Object.fromEntries(dialects.map((name) => [name, false]));
    const config = { doors: { ...closed, http: { listen: "127.0.0.1:0" }, ...doors }, graceSeconds: 3 };
    writeFileSync(join(this.#folder, "yardmaster.json"), JSON.stringify(config));
    const child = spawn(process.execPath, [bin, "serve", "--json"], {
      cwd: this.#folder,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    this.doors = (JSON.parse(String((await lines.next()).value)) as { doors: Addresses }).doors;
    return this.doors;
  }

  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  async close(): Promise<void> {
    await this.end("SIGKILL");
    rmSync(this.#folder, { recursive: true });
  }

  /** Its tasks, from the http door. */
  async tasks(): Promise<{ state: string; told: boolean; worker: string | null }[]> {
    const answer = await fetch(`http://${this.doors.http?.listen}/v1/tasks?limit=500`);
    return ((await answer.json()) as { items: { state: string; told: boolean; worker: string | null }[] })
      .items;
  }
}

export function portOf(address: string | undefined): number {
  return Number(address?.split(":").at(-1));
}

export function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
