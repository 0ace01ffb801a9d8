// A dispatcher of a cluster in its own process, and what a service manager does for it: a node that
// ends because it lost the yard is started again.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
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
}

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
    const { name, url, cluster } = this.#options;
    const closed = Object.fromEntries(
      ["pingpong", "pulse", "udp", "monique", "scaler"].map((door) => [door, false]),
    );
    const config = {
      engine: "postgres",
      postgres: { url, requireSync: false },
      cluster: { node: name, ...cluster },
      doors: { ...closed, http: { listen: this.#listen } },
      graceSeconds: 0.5,
      drainSeconds: 1,
    };
    writeFileSync(join(this.#folder, "yardmaster.json"), JSON.stringify(config));
    const child = spawn(process.execPath, [bin, "serve", "--json"], {
      cwd: this.#folder,
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, YARD_LOG: process.env.YARD_LOG ?? "fatal" },
    });
    this.#child = child;
    this.#isKept = true;
    running.add(child);
    this.#ended = once(child, "exit").then(([code, signal]) => this.#exited(code ?? signal));
    const lines = createInterface({ input: child.stdout });
    lines.on("line", (text) => {
      if ((JSON.parse(text) as Line).ready === true) this.ownerships += 1;
    });
    const [first] = (await Promise.race([once(lines, "line"), once(child, "close")])) as [unknown];
    if (typeof first === "string") this.#listen = (JSON.parse(first) as Line).doors.http.listen;
    // A test that ends while its node restarts kills it before its first line: that is no failure.
    else if (this.#isKept) {
      throw new Error(`node ${name} ended with ${child.exitCode ?? child.signalCode}`);
    }
    return this;
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.kill(signal);
  }

  /** It stays down until it is started again. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    this.#isKept = false;
    this.#child?.kill(signal);
    await this.#ended;
  }

  async destroy(): Promise<void> {
    await this.end("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #exited(how: number | NodeJS.Signals): Promise<void> {
    if (this.#child !== undefined) running.delete(this.#child);
    this.exits.push(how);
    if (how === standbyCode && this.#isKept) await this.start();
  }
}
