// A dispatcher of a cluster in its own process, and what a service manager does for it: a node that
// ends because it lost the yard, or could not begin, is started again.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ownLoopback } from "../own-loopback.js";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));

/** The exit code of a node that does not own the yard any more. */
export const standbyCode = 3;

export interface NodeOptions {
  readonly name: string;
  /** The database. */
  readonly url: string;
  readonly cluster?: Readonly<Record<string, unknown>>;
  readonly requireSync?: boolean;
  /** Further settings. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** How often a start is tried. A database that is away refuses it. */
  readonly tries?: number;
}

/** The pause between two tries. */
const retryMs = 200;

/** If the test is interrupted, no dispatcher is left behind. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

interface Line {
  readonly standby?: boolean;
  readonly ready?: boolean;
  readonly doors: { readonly http: { readonly listen: string } };
}

export class NodeProcess {
  readonly name: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "yard-node-"));
  readonly #options: NodeOptions;
  #listen = `${ownLoopback}:0`;
  #child: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #starting: Promise<void> | undefined;
  #isKept = false;
  /** Exit codes and signals of its processes so far. */
  readonly exits: (number | NodeJS.Signals | null)[] = [];
  /** How often it became the owner. */
  ownerships = 0;

  constructor(options: NodeOptions) {
    this.name = options.name;
    this.#options = options;
  }

  get url(): string {
    return `http://${this.#listen}`;
  }

  /** Resolves when its http door is open, as that of a standby at first. */
  async start(): Promise<this> {
    this.#isKept = true;
    this.#starting = this.#tryToStart();
    await this.#starting;
    return this;
  }

  async #tryToStart(): Promise<void> {
    const { name, tries = 1 } = this.#options;
    for (let tried = 1; this.#isKept; tried++) {
      const how = await this.#begin();
      // A test that ends while its node restarts kills it before its first line, which is no
      // failure.
      if (how === undefined || !this.#isKept) return;
      if (tried === tries) throw new Error(`node ${name} ended with ${how}`);
      await pause(retryMs);
    }
  }

  /** Returns how it ended, if it ended before its door was open. */
  async #begin(): Promise<number | NodeJS.Signals | null | undefined> {
    const { name, url, cluster, requireSync = false, settings } = this.#options;
    const closed = Object.fromEntries(
      ["pingpong", "pulse", "udp", "monique", "scaler"].map((door) => [door, false]),
    );
    const config = {
      engine: "postgres",
      postgres: { url, requireSync },
      cluster: { node: name, ...cluster },
      doors: { ...closed, http: { listen: this.#listen } },
      graceSeconds: 0.5,
      drainSeconds: 1,
      ...settings,
    };
    writeFileSync(join(this.#folder, "yardmaster.json"), JSON.stringify(config));
    const child = spawn(process.execPath, [bin, "serve", "--json"], {
      cwd: this.#folder,
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, YARD_LOG: process.env.YARD_LOG ?? "fatal" },
    });
    this.#child = child;
    running.add(child);
    const lines = createInterface({ input: child.stdout });
    let isStarted = false;
    this.#ended = once(child, "exit").then(([code, signal]) =>
      this.#exited(child, code ?? signal, isStarted),
    );
    lines.on("line", (text) => {
      if ((JSON.parse(text) as Line).ready === true) this.ownerships += 1;
    });
    const [first] = (await Promise.race([once(lines, "line"), once(child, "close")])) as [unknown];
    if (typeof first !== "string") return child.exitCode ?? child.signalCode;
    isStarted = true;
    this.#listen = (JSON.parse(first) as Line).doors.http.listen;
    return undefined;
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.kill(signal);
  }

  /** It stays down until it is started again. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    this.#isKept = false;
    this.#child?.kill(signal);
    await this.#ended;
    await this.#starting?.catch(() => {});
  }

  async destroy(): Promise<void> {
    await this.end("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #exited(child: ChildProcess, how: number | NodeJS.Signals, isStarted: boolean): Promise<void> {
    running.delete(child);
    this.exits.push(how);
    const isRestarted = how === standbyCode || (this.#options.tries ?? 1) > 1;
    if (isStarted && isRestarted && this.#isKept) await this.start();
  }
}
